#include "watch/psi.h"

#include "base/i18n.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { TEXT_BYTES = 512 };

void psi_init(struct psi *p, const struct watch_row *rows, const struct psi_part *parts, size_t n,
        struct board *board, const char *instance)
{
	assert(n <= PSI_PARTS_MAX);
	*p = (struct psi){ .parts = parts, .n = n };
	for (size_t i = 0; i < n; i++)
		p->channels[i] = board_channel(board, &rows[i], instance);
}

/* The file of a part is that of the first part with its resource. */
static size_t file_of(const struct psi *p, size_t part)
{
	while (part > 0 && strcmp(p->parts[part - 1].resource, p->parts[part].resource) == 0)
		part--;
	return part;
}

void psi_open(struct psi *p, const char *root, const char *folder, const char *suffix)
{
	for (size_t i = 0; i < p->n; i++)
		if (file_of(p, i) == i && !procfile_open(&p->files[i], root, "%s/%s%s", folder,
		                                  p->parts[i].resource, suffix))
			p->code[i] = errno;
}

const char *psi_why_not(int code)
{
	if (code == ENOENT)
		return _("the kernel has no pressure stall information, or was started without "
		         "(psi=1)");
	if (code == EOPNOTSUPP)
		return _("pressure stall information is switched off (psi=1 at the start of the "
		         "kernel, or cgroup.pressure)");
	if (code == ENODEV || code == ESRCH)
		return _("the group is gone");
	if (code == EACCES || code == EPERM)
		return _("the pressure files may not be read");
	return strerror(code);
}

bool psi_total_us(struct str text, const char *line, uint64_t *ret_total)
{
	while (text.len && memchr(text.s, '\n', text.len)) {
		struct str rest = procfile_line(&text), word;
		if (!str_eq(procfile_word(&rest), str_of(line)))
			continue;
		while ((word = procfile_word(&rest)).len) {
			struct str value;
			if (str_eq(str_cut(word, '=', &value), STR("total")))
				return procfile_u64(value, ret_total);
		}
		return false;
	}
	return false;
}

static void show(struct psi *p, size_t i, struct str text, int code)
{
	uint64_t total;
	bool is_gone = code == ENODEV || code == ESRCH;
	if (code != 0)
		channel_absent(p->channels[i], is_gone ? SIGNAL_NOT_COUNTED : SIGNAL_NOT_SUPPORTED,
		        psi_why_not(code));
	else if (psi_total_us(text, p->parts[i].line, &total))
		channel_total(p->channels[i], total);
	else
		channel_absent(p->channels[i], SIGNAL_NOT_SUPPORTED,
		        _("the pressure file has no total of that kind"));
}

void psi_sample(struct psi *p)
{
	char memory[TEXT_BYTES];
	struct str text = { 0 };
	int code = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (file_of(p, i) == i) {
			code = p->code[i];
			if (code == 0 &&
			        !procfile_read(&p->files[i], memory, sizeof(memory), &text))
				code = errno;
		}
		show(p, i, text, code);
	}
}

void psi_absent(struct psi *p, enum signal_state state, const char *reason)
{
	for (size_t i = 0; i < p->n; i++)
		channel_absent(p->channels[i], state, reason);
}

void psi_close(struct psi *p)
{
	for (size_t i = 0; i < p->n; i++)
		procfile_close(&p->files[i]);
}
