#include "cmd/load_server.h"

#include "cmd/common.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "watch/pages/scrape.h"

#include <math.h>
#include <string.h>

enum { PAGES_MAX = 16 };

static const int64_t quiet_timeout_ns = 1 * NS_PER_S;
static const int64_t named_timeout_ns = 2 * NS_PER_S;

/*
 * How much more of the prompts a cache may answer than they were meant to share: prefill, and TTFT
 * with it, then falls by no more than twice the noise that two runs of the same thing are allowed
 * (5 %, the glossary's "noise"). What a chat's frame puts before every prompt lies mostly below.
 */
static const double cache_margin_ratio = 0.10;

/* Client and service have to have counted the same requests, but for a few at the window's edges.
 */
static const double same_requests_ratio = 0.10;
static const double confidence_errors = 2; /* standard errors: about 95 % */

const struct opt load_server_rows[] = {
	{ OPT_HEADING, .help = N_("Server side:") },
	{ OPT(struct load_server_options, metrics, OPT_LIST, 0, "metrics", "URL|none",
	        N_("page of Prometheus metrics to read before, during and after the window; may be "
	           "repeated (default: /metrics of the target, where there is one)")) },
};
const size_t load_server_n_rows = ARRAY_LEN(load_server_rows);

struct page {
	struct scrape *scrape; /* NULL: could not be opened */
	const char *url;
	const char *reason;
	int64_t n_failed;
	bool quiet;
};

struct load_server {
	const struct load_config *config;
	struct opt_list targets;
	struct page pages[PAGES_MAX];
	size_t n;
};

void load_server_close(struct load_server *server)
{
	for (size_t i = 0; server && i < server->n; i++)
		scrape_close(server->pages[i].scrape);
}

/* A page that is only tried has to be one of metrics; of a page that was named, what is wrong. */
static bool open_page(struct load_server *server, const struct scrape_config *config, bool quiet,
        struct arena *run, struct err *err)
{
	struct page *page = &server->pages[server->n];
	struct err why;
	*page = (struct page){ .url = config->url, .quiet = quiet };
	bool opened = scrape_open(config, run, &page->scrape, &why);
	if (!opened && why.kind == ERR_USAGE && !quiet) {
		*err = why;
		return err_wrap(err, "--metrics");
	}
	if (!opened || !scrape_look(page->scrape, &why)) {
		if (quiet) {
			scrape_close(page->scrape);
			return true;
		}
		cmd_warn(_("no metrics from '%s': %s"), config->url, why.text);
		page->reason = arena_strdup(run, why.text);
		page->n_failed = 1;
	}
	server->n++;
	return true;
}

static bool names_none(const struct opt_list *urls)
{
	for (size_t i = 0; i < urls->n; i++)
		if (strcmp(urls->items[i], "none") == 0)
			return true;
	return false;
}

static bool open_named(
        struct load_server *server, const struct opt_list *urls, struct arena *run, struct err *err)
{
	if (urls->n > PAGES_MAX)
		return err_set(err, ERR_USAGE, _("'--metrics' takes at most %d pages"), PAGES_MAX);
	for (size_t i = 0; i < urls->n; i++) {
		const struct scrape_config config = {
			.url = urls->items[i],
			.targets = server->targets,
			.headers = server->config->headers,
			.insecure = server->config->insecure,
			.timeout_ns = named_timeout_ns,
		};
		if (!open_page(server, &config, false, run, err))
			return false;
	}
	return true;
}

static bool open_own(struct load_server *server, struct arena *run, struct err *err)
{
	const struct load_config *config = server->config;
	for (size_t i = 0; i < server->targets.n && i < PAGES_MAX; i++) {
		const struct scrape_config own = {
			.url = server->targets.items[i],
			.path = "/metrics",
			.unix_socket = config->unix_socket,
			.headers = config->headers,
			.targets = server->targets,
			.insecure = config->insecure,
			.timeout_ns = quiet_timeout_ns,
		};
		if (!open_page(server, &own, true, run, err))
			return false;
	}
	return true;
}

/* All URLs that the load goes to. */
static struct opt_list targets_of(const struct load_config *config, struct arena *run)
{
	struct opt_list list = { arena_new_n(run, const char *, config->more_urls.n + 1), 0 };
	list.items[list.n++] = config->url;
	for (size_t i = 0; i < config->more_urls.n; i++)
		list.items[list.n++] = config->more_urls.items[i];
	return list;
}

bool load_server_open(const struct load_server_options *options, const struct load_config *config,
	struct arena *run, struct load_server **ret_server, struct err *err)
{
	struct load_server *server = arena_new(run, struct load_server);
	const struct opt_list *urls = &options->metrics;
	server->config = config;
	server->targets = targets_of(config, run);
	bool ok;
	if (names_none(urls))
		ok = urls->n == 1 || err_set(err, ERR_USAGE, _("'--metrics none' stands alone"));
	else if (urls->n > 0)
		ok = open_named(server, urls, run, err);
	else
		ok = open_own(server, run, err);
	if (!ok) {
		load_server_close(server);
		return false;
	}
	*ret_server = server;
	return true;
}

bool load_server_start(struct load_server *server, const struct load_shape *shape, struct err *err)
{
	for (size_t i = 0; i < server->n; i++) {
		bool at_once = shape->warmup == LOAD_WARMUP_NONE;
		if (server->pages[i].scrape &&
		        !scrape_start(server->pages[i].scrape, at_once, err))
			return false;
	}
	return true;
}

void load_server_window(struct load_server *server, bool opened)
{
	for (size_t i = 0; i < server->n; i++) {
		if (!server->pages[i].scrape)
			continue;
		if (opened)
			scrape_window_opens(server->pages[i].scrape);
		else
			scrape_window_closes(server->pages[i].scrape);
	}
}

/* A distribution over all pages that have it: how many values, and their mean; false: none. */
static bool pooled(const struct signal_server *s, const char *name, double *ret_n, double *ret_mean)
{
	double n = 0, sum = 0;
	for (size_t i = 0; i < s->n_pages; i++) {
		const struct signal *signal = signal_find(&s->pages[i], name);
		n += signal ? (double)signal->n : 0;
		sum += signal ? (double)signal->n * signal->mean : 0;
	}
	*ret_n = n;
	*ret_mean = sum / n;
	return n > 0;
}

/*
 * What a request's first token needs beyond the service: the network, and the client. The service
 * counts tokens by when they came and the client by when requests were sent, so up to as many
 * requests as are in flight differ at each end of the window; a difference of the means that is no
 * larger than theirs says nothing.
 */
static double ttft_beyond_ms(const struct signal_server *s, const struct load_run *r)
{
	const struct hist *mine = &r->metrics[LOAD_TTFT];
	double n, mean;
	if (!pooled(s, "server_ttft_ms", &n, &mean) || mine->n == 0 ||
		fabs(n - (double)mine->n) > same_requests_ratio * (double)mine->n)
		return NAN;
	double in_flight = r->throughput.requests_per_s * hist_mean(&r->metrics[LOAD_LATENCY]) / 1e9;
	double error = hist_sd(mine) / 1e6 * sqrt(2 * fmax(1, in_flight)) / (double)mine->n;
	double beyond = hist_mean(mine) / 1e6 - mean;
	return beyond > confidence_errors * error ? beyond : NAN;
}

/* Prompts of a file may share what they like, and turns share their past; else it is known. */
static const char *cache_warning(const struct signal_server *s, const struct load_config *config,
	struct arena *run)
{
	double n, mean;
	if (config->input_file || config->data || config->schedule || config->turns ||
		!pooled(s, "server_prefix_cache_hit_ratio", &n, &mean) ||
		mean <= config->prefix_ratio + cache_margin_ratio)
		return NULL;
	return arena_printf(run,
		_("the service's prefix cache answered %.0f %% of the prompt tokens, though "
		  "'--prefix-share' is %g: latencies are those of a warm cache; keep '--salt', use "
		  "another '--seed', or say the share with '--prefix-share'"),
		100 * mean, config->prefix_ratio);
}

static void report_pages(struct load_server *server, struct arena *run, struct load_run *r)
{
	struct signal_server *s = arena_new(run, struct signal_server);
	int64_t end_ns = r->window.start_ns + (int64_t)(r->window.duration_s * 1e9);
	s->pages = arena_new_n(run, struct signal_page, server->n);
	for (size_t i = 0; i < server->n; i++) {
		const struct page *page = &server->pages[i];
		struct signal_page *to = &s->pages[s->n_pages];
		/* Whoever named no page did not ask why the one that was tried tells nothing. */
		if (page->quiet && !scrape_knows(page->scrape))
			continue;
		s->n_pages++;
		if (page->scrape)
			scrape_report(page->scrape, r->window.start_ns, end_ns, run, to);
		else
			*to = (struct signal_page){ .url = page->url,
				.reason = page->reason,
				.n_failed = page->n_failed,
				.from_s = NAN,
				.to_s = NAN };
	}
	if (s->n_pages == 0)
		return;
	s->ttft_beyond_ms = ttft_beyond_ms(s, r);
	s->warning = cache_warning(s, server->config, run);
	r->server = s;
}

void load_server_finish(struct load_server *server, struct arena *run, struct load_run *r)
{
	for (size_t i = 0; i < server->n; i++)
		if (server->pages[i].scrape)
			scrape_finish(server->pages[i].scrape);
	if (r)
		report_pages(server, run, r);
}
