#include "load/internal.h"

#include "base/i18n.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

static const int64_t connect_timeout_ns = INT64_C(5000000000);

struct slo_name {
	const char *name;
	size_t offset;
};

static const struct slo_name slo_names[] = {
	{ "ttft", offsetof(struct load_slo, ttft_ns) },
	{ "itl", offsetof(struct load_slo, itl_ns) },
	{ "e2e", offsetof(struct load_slo, e2e_ns) },
};

static bool parse_objective(struct load_slo *slo, struct str name, struct str value)
{
	for (size_t i = 0; i < ARRAY_LEN(slo_names); i++) {
		if (!str_eq(name, str_of(slo_names[i].name)))
			continue;
		return units_parse_duration(value, (int64_t *)((char *)slo + slo_names[i].offset));
	}
	return false;
}

static bool parse_slo(const char *text, struct load_slo *slo, struct err *err)
{
	*slo = (struct load_slo){ false, INT64_MAX, INT64_MAX, INT64_MAX };
	if (!text)
		return true;
	struct str rest = str_of(text);
	while (rest.len) {
		struct str value;
		struct str part = str_trim(str_cut(rest, ',', &rest));
		struct str name = str_cut(part, '=', &value);
		if (!parse_objective(slo, name, value))
			return err_set(err, ERR_USAGE,
				_("'--slo' takes ttft=, itl= and e2e= with durations, not '%.*s'"),
				STR_ARG(part));
		slo->present = true;
	}
	return true;
}

static bool check_headers(const struct load_config *config, struct err *err)
{
	for (size_t i = 0; i < config->headers.n; i++) {
		const char *line = config->headers.items[i];
		if (!strchr(line, ':') || strpbrk(line, "\r\n"))
			return err_set(err, ERR_USAGE, _("'--header' takes 'Name: value', not '%s'"),
				line);
	}
	for (size_t i = 0; i < config->tags.n; i++)
		if (!strchr(config->tags.items[i], '='))
			return err_set(err, ERR_USAGE, _("'--tag' takes KEY=VALUE, not '%s'"),
				config->tags.items[i]);
	return true;
}

static bool open_parts(struct load *load, struct arena *run, struct err *err)
{
	const struct load_config *config = &load->config;
	int64_t timeout = connect_timeout_ns;
	if (config->timeout_ns < timeout)
		timeout = config->timeout_ns;
	if (!check_headers(config, err) || !parse_slo(config->slo, &load->slo, err) ||
		!url_parse(config->url, run, &load->url, err))
		return false;
	load->url.unix_socket = config->unix_socket;
	if (!conn_target_open(&load->url, config->insecure, timeout, run, &load->target, err) ||
		!load_discover(load, run, err))
		return false;
	load->streaming = endpoint_streams(load->endpoint, load->url.path, config->stream);
	return workload_build(config, load->endpoint, load->model, load->prepared, &load->url, run,
		&load->workload, err);
}

bool load_open(const struct load_config *config, struct arena *run, struct load **ret_load,
	struct err *err)
{
	struct load *load = arena_new(run, struct load);
	load->config = *config;
	if (!open_parts(load, run, err)) {
		load_close(load);
		return false;
	}
	*ret_load = load;
	return true;
}

void load_close(struct load *load)
{
	if (load)
		conn_target_close(&load->target);
}

const char *load_api(const struct load *load)
{
	return load->endpoint->name;
}

const char *load_model(const struct load *load)
{
	return load->model;
}

bool load_streams(const struct load *load)
{
	return load->streaming;
}
