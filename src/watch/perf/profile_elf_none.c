#include "watch/perf/profile_elf.h"

#include "base/i18n.h"

bool profile_elf_read(struct names *set, int fd, char ret_build_id[PROFILE_BUILD_ID_BYTES])
{
	(void)set, (void)fd, (void)ret_build_id;
	return false;
}

bool profile_elf_read_vdso(struct names *set)
{
	(void)set;
	return false;
}

const char *profile_elf_why_not(void)
{
	return _("they are told by file, not by function: built without libelf");
}
