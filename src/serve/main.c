/*
 * venturi-serve - a real inference service, or the simulation of one, behind OpenAI's API.
 */
#include "base/clock.h"
#include "base/i18n.h"
#include "base/opt.h"
#include "engine/profile.h"
#include "net/listen.h"
#include "serve/encode_service.h"
#include "serve/executor.h"
#include "serve/fault_work.h"
#include "serve/faults.h"
#include "serve/gateway_service.h"
#include "serve/schedule_log.h"
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	BODY_BYTES_DEFAULT = 16 * 1024 * 1024,
	OPTIONS_FILE_MAX_BYTES = 1024 * 1024,
	POOL_SPIN_US =
	        50, /* longer than from one operator to the next, shorter than a time slice */
};

#define ARRIVE_NS_DEFAULT (60 * NS_PER_S)

struct options {
	const char *model, *simulate;
	const char *listen, *port_file, *schedule_log, *profile, *options_from, *lang;
	bool help, version, list_faults;
	struct server_options server;
	struct encode_args encode;
	struct encode_plan encode_plan; /* what they mean */
	struct gateway_args gateway;
	struct opt_list fault;
	struct faults faults; /* what they say */
};

enum { N_TABLES = 4 };

static const struct opt rows[] = {
	{ .type = OPT_HEADING, .help = N_("What to serve (one of them)") },
	{ OPT(struct options, model, OPT_STRING, 0, "model", N_("PATH"),
	        N_("an encoder of the BERT family: a folder with config.json; or a model of the "
	           "Llama family: a file in GGUF")) },
	{ OPT(struct options, encode.synthetic, OPT_STRING, 0, "synthetic", N_("SHAPE"),
	        N_("an encoder of random weights: bert-base, minilm ...; its speed is real")) },
	{ OPT(struct options, simulate, OPT_STRING, 0, "simulate", N_("FILE"),
	        N_("pretend: a service with the timing that the file describes")) },
	{ OPT(struct options, gateway.urls, OPT_LIST, 0, "upstream", N_("URL"),
	        N_("another service, to stand in front of it as a gateway; may be given several "
	           "times")) },
	{ .type = OPT_HEADING, .help = N_("How to serve it") },
	{ OPT(struct options, listen, OPT_STRING, 0, "listen", N_("HOST:PORT"),
	        N_("where to listen; port 0 takes a free one (default 127.0.0.1:8000)")) },
	{ OPT(struct options, port_file, OPT_STRING, 0, "port-file", N_("FILE"),
	        N_("write the port there when ready")) },
	{ OPT(struct options, server.queue_max, OPT_INT, 0, "max-queue", N_("N"),
	          N_("refuse requests with status 429 while N are waiting (default 0: never)")),
	        .min = 0, .max = 1e9 },
	{ OPT(struct options, server.body_bytes_max, OPT_SIZE, 0, "max-body", N_("SIZE"),
	        N_("largest body of a request (default 16MiB)")) },
	{ OPT(struct options, server.threads, OPT_INT, 0, "http-threads", N_("N"),
	          N_("threads that speak HTTP (default 1)")),
	        .min = 1, .max = 256 },
	{ OPT(struct options, server.arrive_ns, OPT_DURATION, 0, "request-timeout", N_("DURATION"),
	          N_("a request that takes longer to arrive is broken off (default 60s)")),
	        .min = 0.1, .max = 86400 },
	{ OPT(struct options, server.grace_ns, OPT_DURATION, 0, "grace", N_("DURATION"),
	          N_("on SIGTERM, the time for accepted requests to be answered (default 1s)")),
	        .min = 0, .max = 3600 },
	{ OPT(struct options, server.expose_config, OPT_FLAG, 0, "expose-config", NULL,
	        N_("show the configuration under /config")) },
	{ OPT(struct options, schedule_log, OPT_STRING, 0, "schedule-log", N_("FILE"),
	        N_("write the true times of every request and token, one line of JSON each")) },
	{ OPT(struct options, profile, OPT_STRING, 0, "profile", N_("FILE"),
	        N_("write a trace of the model's operators, for 'venturi trace'")) },
};

static const struct opt more_rows[] = {
	{ .type = OPT_HEADING, .help = N_("To serve it badly, for tests and teaching") },
	{ OPT(struct options, fault, OPT_LIST, 0, "fault", N_("NAME[=VALUE]"),
	        N_("make a fault; may be given several times")) },
	{ OPT(struct options, list_faults, OPT_FLAG, 0, "list-faults", NULL,
	        N_("list the faults")) },
	{ .type = OPT_HEADING, .help = N_("General") },
	{ OPT(struct options, options_from, OPT_STRING, 0, "options-from", N_("FILE"),
	        N_("read options from a file, one a line, or from standard input (-)")) },
	{ OPT(struct options, lang, OPT_CHOICE, 0, "lang", "en|zh", N_("language of messages")),
	        .choices = "en|zh" },
	{ OPT(struct options, help, OPT_FLAG, 'h', "help", NULL, N_("show this help")) },
	{ OPT(struct options, version, OPT_FLAG, 0, "version", NULL, N_("show the version")) },
};

/* All options, in the order of --help. */
static void list_tables(struct options *o, struct opt_table tables[N_TABLES])
{
	size_t n_encode, n_gateway;
	const struct opt *encode_rows = encode_opt_rows(&n_encode);
	const struct opt *gateway_rows = gateway_opt_rows(&n_gateway);
	tables[0] = (struct opt_table){ rows, ARRAY_LEN(rows), o };
	tables[1] = (struct opt_table){ encode_rows, n_encode, &o->encode };
	tables[2] = (struct opt_table){ gateway_rows, n_gateway, &o->gateway };
	tables[3] = (struct opt_table){ more_rows, ARRAY_LEN(more_rows), o };
}

static int fail(const struct err *err)
{
	fprintf(stderr, _("venturi-serve: error: %s\n"), err->text);
	if (err->hint[0])
		fprintf(stderr, _("venturi-serve: hint: %s\n"), err->hint);
	return (int)err->kind;
}

static void warn_log_failure(int failed)
{
	fprintf(stderr,
	        _("venturi-serve: warning: the schedule log cannot be written: %s; it lacks "
	          "requests from now on; make room or stop the service\n"),
	        strerror(failed));
}

static bool read_options_text(
        const char *path, struct arena *run, struct str *ret_text, struct err *err)
{
	if (strcmp(path, "-") != 0)
		return str_read_file(path, OPTIONS_FILE_MAX_BYTES, run, ret_text, err);
	AUTO(auto_buf) struct buf text = { 0 };
	if (!buf_read(&text, stdin, OPTIONS_FILE_MAX_BYTES, err))
		return err_wrap(err, "%s", _("standard input"));
	*ret_text = str_dup(buf_str(&text), run);
	return true;
}

static bool parse_command_line(
        const struct opt_table *tables, int argc, char **argv, struct arena *run, struct err *err)
{
	struct opt_list args = { 0 };
	if (!opt_parse(tables, N_TABLES, argc - 1, argv + 1, run, &args, err))
		return false;
	if (args.n > 0) {
		err_set(err, ERR_USAGE, _("unexpected argument '%s'"), args.items[0]);
		return err_hint(err, "%s", _("venturi-serve --help lists the options"));
	}
	return true;
}

/* The command line is read again after the file, so that it has the last word. */
static bool parse_options(
        int argc, char **argv, struct arena *run, struct options *o, struct err *err)
{
	struct opt_table tables[N_TABLES];
	struct str text = { 0 };
	list_tables(o, tables);
	if (!parse_command_line(tables, argc, argv, run, err))
		return false;
	if (!o->options_from)
		return true;
	const char *path = o->options_from;
	const char *source = strcmp(path, "-") == 0 ? _("standard input") : path;
	return read_options_text(path, run, &text, err) &&
	       opt_parse_text(tables, N_TABLES, text, source, run, err) &&
	       parse_command_line(tables, argc, argv, run, err);
}

static bool is_encoder(const struct options *o)
{
	return o->encode.synthetic || (o->model && encode_is_encoder(o->model));
}

static enum fault_place fault_place(const struct options *o)
{
	if (is_encoder(o))
		return FAULT_ENCODER;
	if (o->gateway.urls.n > 0)
		return FAULT_GATEWAY;
	return o->model ? FAULT_DECODER : FAULT_SIMULATED;
}

static bool check_options(struct options *o, struct err *err)
{
	if (o->server.body_bytes_max < 1)
		return err_set(err, ERR_USAGE, _("'%s' must be at least 1"), "--max-body");
	bool is_gateway = o->gateway.urls.n > 0;
	if (!!o->model + !!o->encode.synthetic + !!o->simulate + is_gateway != 1) {
		err_set(err, ERR_USAGE, "%s",
		        _("give one of --model, --synthetic, --simulate and --upstream"));
		return err_hint(err, "%s", _("venturi-serve --help lists the options"));
	}
	if (o->profile && (o->simulate || is_gateway))
		return err_set(err, ERR_USAGE, "%s",
		        _("'--profile' records a model's operators; here there is none"));
	const char *given = is_encoder(o) ? NULL : encode_args_given(&o->encode, is_gateway);
	if (given)
		return err_set(err, ERR_USAGE, _("'--%s' is for encoders"), given);
	if (is_gateway && o->encode.max_batch_tokens < 0)
		o->encode.max_batch_tokens = GATEWAY_BATCH_TOKENS;
	return encode_plan_make(&o->encode, &o->encode_plan, err) &&
	       gateway_args_check(&o->gateway, err) &&
	       faults_parse(&o->fault, fault_place(o), &o->faults, err);
}

static void print_help(struct options *o)
{
	struct opt_table tables[N_TABLES];
	AUTO(auto_buf) struct buf out = { 0 };
	list_tables(o, tables);
	buf_printf(&out, "%s\n",
	        _("Usage: venturi-serve --model PATH | --synthetic SHAPE | --simulate FILE | "
	          "--upstream URL [options]"));
	opt_help(tables, N_TABLES, &out);
	fwrite(out.s, 1, out.len, stdout);
}

static void print_faults(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	faults_list(&out);
	fwrite(out.s, 1, out.len, stdout);
}

/* Written beside and renamed, so that who waits for the file never reads half a number. */
static bool write_port(const char *path, int port, struct arena *run, struct err *err)
{
	if (!path)
		return true;
	const char *beside = arena_printf(run, "%s.new", path);
	FILE *f = fopen(beside, "we");
	bool ok = f && fprintf(f, "%d\n", port) > 0;
	ok = (!f || fclose(f) == 0) && ok;
	if (ok && rename(beside, path) == 0)
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
}

static bool open_encoder(const struct options *o, struct profile *profile, struct metrics *metrics,
        struct arena *run, struct encode_service *encode, struct executor **ret_x, struct err *err)
{
	struct encode_plan plan = o->encode_plan;
	struct machine_plan machine;
	if (!machine_plan(&plan.machine, run, &machine, err))
		return false;
	struct pool_options pool = {
		.n_threads = machine.n_threads,
		.cpus = machine.cpus,
		.n_cpus = machine.n_cpus,
		.spin_us = POOL_SPIN_US,
	};
	fault_work_spoil_pool(&o->faults, o->server.work, &pool);
	plan.engine.node = machine.node;
	plan.serving.faults = &o->faults;
	plan.serving.work = o->server.work;
	plan.serving.profile = profile;
	plan.engine.faults = o->faults.engine;
	const struct encode_setup setup = {
		.folder = o->model,
		.synthetic = o->encode.synthetic,
		.plan = &plan,
		.pool = &pool,
		.metrics = metrics,
	};
	return encode_service_open(&setup, encode, ret_x, err);
}

static bool open_executor(const struct options *o, struct profile *profile, struct metrics *metrics,
        struct arena *run, struct encode_service *encode, struct executor **ret_x, struct err *err)
{
	struct fault_work *work = o->server.work;
	bool ok;
	if (is_encoder(o))
		ok = open_encoder(o, profile, metrics, run, encode, ret_x, err);
	else if (o->model)
		ok = decode_open(o->model, work, profile, metrics, ret_x, err);
	else if (o->gateway.urls.n > 0)
		ok = gateway_service_open(
		        &o->gateway, &o->encode_plan, &o->faults, metrics, ret_x, err);
	else
		ok = simulate_open(o->simulate, work, metrics, ret_x, err);
	if (!ok)
		return false;
	metrics->model_name = (*ret_x)->model_name;
	faults_spoil_wire(&o->faults, &(*ret_x)->wire);
	return true;
}

/* Announces itself, then serves until a signal. */
static bool serve_until_signal(const struct options *o, struct executor *x,
        struct schedule_log *log, const sigset_t *signals, struct arena *run, struct err *err)
{
	struct listener listener;
	struct server *server;
	if (!listen_open(o->listen, &listener, err) ||
	        !server_start(&listener, &o->server, x, log, &server, err))
		return false;
	bool ok = write_port(o->port_file, listener.port, run, err);
	if (ok) {
		int got;
		printf("listening on http://%s:%d\n", listener.host, listener.port);
		fflush(stdout);
		sigwait(signals, &got);
	}
	server_stop(server);
	return ok;
}

static bool serve_with_faults(const struct options *o, struct arena *run, struct err *err)
{
	struct metrics metrics;
	struct executor *x;
	struct schedule_log log;
	struct profile *profile = NULL;
	struct encode_service encode = { 0 };
	struct err log_err;
	sigset_t signals;
	/* Blocked before any thread exists: only sigwait takes them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1UL); /* the threads inherit it: sleeps end on time */
	api_init();

	metrics_init(&metrics);
	if (o->profile && !profile_open(o->profile, &profile, err))
		return false;
	if (!open_executor(o, profile, &metrics, run, &encode, &x, err)) {
		(void)!profile_close(profile, &log_err);
		return false;
	}
	bool ok = schedule_log_open(&log, o->schedule_log, warn_log_failure, err) &&
	          serve_until_signal(o, x, &log, &signals, run, err);
	if (!schedule_log_close(&log, &log_err) && ok) {
		*err = log_err;
		ok = false;
	}
	x->ops->close(x);
	encode_service_close(&encode);
	if (!profile_close(profile, &log_err) && ok) {
		*err = log_err;
		ok = false;
	}
	return ok;
}

static bool serve(struct options *o, struct arena *run, struct err *err)
{
	o->server.faults = &o->faults;
	if (!fault_work_open(&o->faults, &o->server.work, err))
		return false;
	bool ok = serve_with_faults(o, run, err);
	fault_work_close(o->server.work);
	return ok;
}

int main(int argc, char **argv)
{
	struct arena run = { 0 };
	struct err err;
	struct options o = {
		.listen = "127.0.0.1:8000",
		.encode = encode_args_default,
		.gateway = gateway_args_default,
		.server = { .body_bytes_max = BODY_BYTES_DEFAULT,
		        .arrive_ns = ARRIVE_NS_DEFAULT,
		        .threads = 1,
		        .grace_ns = NS_PER_S },
	};
	i18n_init(NULL);
	bool ok = parse_options(argc, argv, &run, &o, &err);
	if (o.lang)
		i18n_init(o.lang);
	if (ok && o.help) {
		print_help(&o);
	} else if (ok && o.list_faults) {
		print_faults();
	} else if (ok && o.version) {
		printf("venturi-serve %s\n", VENTURI_VERSION);
	} else {
		ok = ok && check_options(&o, &err) && serve(&o, &run, &err);
	}
	int code = ok ? 0 : fail(&err);
	arena_release(&run);
	return code;
}
