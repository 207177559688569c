#include "ledger/place.h"

#include "base/arena.h"
#include "base/i18n.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty variable counts as one that is not set. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

bool ledger_find(const char *path, struct arena *run, const char **ret_path, struct err *err)
{
	const char *data = variable("XDG_DATA_HOME"), *home = variable("HOME");
	if (!path)
		path = variable("VENTURI_LEDGER");
	if (path && !*path)
		return err_set(err, ERR_USAGE, _("the file name of the ledger is empty"));
	if (path)
		*ret_path = arena_strdup(run, path);
	else if (data && data[0] == '/') /* a relative one is to be ignored: XDG base directories */
		*ret_path = arena_printf(run, "%s/venturi/ledger.db", data);
	else if (home)
		*ret_path = arena_printf(run, "%s/.local/share/venturi/ledger.db", home);
	else
		return err_set(err, ERR_USAGE,
		        _("there is no home folder for the ledger; give its file with --ledger"));
	return true;
}

static bool make_folder(const char *folder, struct err *err)
{
	struct stat st;
	/* Looked at first: a read-only file system refuses even what is there already. */
	if (stat(folder, &st) == 0 || mkdir(folder, 0777) == 0 || errno == EEXIST)
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot make the folder '%s' for the ledger: %s"), folder,
	        strerror(errno));
}

bool place_prepare(const char *path, struct err *err)
{
	struct arena tmp = { 0 };
	bool ok = true;
	char *folder = arena_strdup(&tmp, path);
	for (char *slash = strchr(folder + 1, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ok = make_folder(folder, err);
		*slash = '/';
	}
	char *last = strrchr(folder, '/');
	if (last)
		last[1] = '\0';
	/* SQLite would try to open the file for reading after this, and report that failure. */
	if (ok && access(last ? folder : ".", W_OK | X_OK) != 0)
		ok = err_set(err, ERR_SYSTEM, _("cannot make the ledger '%s': %s"), path,
		        strerror(errno));
	arena_release(&tmp);
	return ok;
}
