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

static bool open_target(struct load *load, const char *url, struct arena *run, struct err *err)
{
	const struct load_config *config = &load->config;
	struct load_target *t = &load->targets[load->n_targets];
	int64_t timeout =
		config->timeout_ns < connect_timeout_ns ? config->timeout_ns : connect_timeout_ns;
	if (!url_parse(url, run, &t->url, err))
		return false;
	t->url.unix_socket = config->unix_socket;
	if (!conn_target_open(&t->url, config->insecure, timeout, run, &t->conn, err))
		return false;
	load->n_targets++;
	return true;
}

static bool open_targets(struct load *load, struct arena *run, struct err *err)
{
	const struct opt_list *more = &load->config.more_urls;
	if (more->n >= LOAD_TARGETS_MAX)
		return err_set(err, ERR_USAGE, _("more than %d URLs"), LOAD_TARGETS_MAX);
	if (more->n > 0 && load->config.unix_socket)
		return err_set(err, ERR_USAGE, _("'--unix-socket' goes with one URL"));
	load->balance = load->config.balance && strcmp(load->config.balance, "least") == 0 ?
		LOAD_LEAST_OUTSTANDING :
		LOAD_ROUND_ROBIN;
	load->targets = arena_new_n(run, struct load_target, more->n + 1);
	if (!open_target(load, load->config.url, run, err))
		return false;
	for (size_t i = 0; i < more->n; i++)
		if (!open_target(load, more->items[i], run, err))
			return false;
	return true;
}

static bool build_requests(struct load *load, struct arena *run, struct err *err)
{
	for (int i = 0; i < load->n_targets; i++) {
		struct load_target *t = &load->targets[i];
		if (!workload_build(&load->config, load->endpoint, load->model, load->prepared, &t->url,
			    run, &t->workload, err))
			return false;
	}
	return true;
}

static bool open_parts(struct load *load, struct arena *run, struct err *err)
{
	const struct load_config *config = &load->config;
	if (!check_headers(config, err) || !parse_slo(config->slo, &load->slo, err) ||
		!open_targets(load, run, err) || !load_discover(load, run, err))
		return false;
	load->streaming =
		endpoint_streams(load->endpoint, load->targets->url.path, config->stream);
	return build_requests(load, run, err);
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
	for (int i = 0; load && i < load->n_targets; i++)
		conn_target_close(&load->targets[i].conn);
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
