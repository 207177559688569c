/*
 * seed_records.c - writes the first files of the corpus of fuzz_records:
 *
 *	seed_records FOLDER
 */
#include "../unit/records_sample.h"

static bool put(const char *folder, const char *name, const void *bytes, size_t n)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	bool ok = f && fwrite(bytes, 1, n, f) == n;
	return f && fclose(f) == 0 && ok;
}

/* The block's sum is right again, so that the change inside it is looked at. */
static void damage(struct sample *s, size_t at, char value)
{
	size_t frame = s->head_end, content = s->block_end[0] - frame - RECORDS_FRAME_BYTES;
	struct records_block b = { .bytes = (uint8_t *)s->file.s + frame,
		.len = content + RECORDS_FRAME_BYTES };
	s->file.s[frame + RECORDS_FRAME_BYTES + at] = value;
	records_block_seal(&b);
}

int main(int argc, char **argv)
{
	static struct sample s;
	if (argc != 2)
		return 2;
	const char *folder = argv[1];
	sample_build(&s);
	bool ok = put(folder, "whole", s.file.s, s.file.len) &&
	          put(folder, "cut_in_block", s.file.s, s.block_end[1] - 5) &&
	          put(folder, "cut_in_header", s.file.s, s.head_end - 5) &&
	          put(folder, "no_done", s.file.s, s.block_end[2]) &&
	          put(folder, "text", "ticket,thread\n1,2\n", 18);
	buf_add_c(&s.file, "more");
	ok = ok && put(folder, "more_behind", s.file.s, s.file.len);
	/* no such source of tokens; a number of more than 64 bits */
	damage(&s, 1, (char)0xfe);
	damage(&s, 2, 0x7f);
	ok = ok && put(folder, "bad_source", s.file.s, s.file.len);
	for (size_t at = 1; at < 14; at++)
		damage(&s, at, (char)0xff);
	ok = ok && put(folder, "bad_number", s.file.s, s.file.len);
	s.file.s[s.head_end + 6] = (char)0x7f;
	ok = ok && put(folder, "long_block", s.file.s, s.file.len);
	buf_release(&s.file);
	return ok ? 0 : 1;
}
