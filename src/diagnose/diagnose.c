#include "diagnose/diagnose.h"

#include "diagnose/judge.h"
#include "diagnose/procedure.h"

static void identify(const struct evidence *ev, struct diagnosis *d)
{
	const struct load_run *r = ev->operating ? ev->operating : ev->first;
	d->started_at = ev->first->started_at;
	d->url = r->url;
	d->api = r->api;
	d->model = r->model;
	d->fingerprint = r->fingerprint;
	d->server = r->server;
	d->system = r->system;
}

bool diagnose_run(const struct diagnose_config *config, const struct diagnose_hooks *hooks,
        struct arena *run, struct diagnosis *ret_diagnosis, struct err *err)
{
	static const struct diagnose_hooks none = { 0 };
	struct evidence ev;
	struct load *load = NULL;
	if (!load_open(&config->load, run, &load, err))
		return false;
	bool ok = procedure_run(config, hooks ? hooks : &none, load, run, &ev, err);
	if (ok) {
		ev.trace = config->trace;
		judge(&ev, run, ret_diagnosis);
		identify(&ev, ret_diagnosis);
	}
	load_close(load);
	return ok;
}
