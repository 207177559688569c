#include "trace/kinds/call_kind.h"

/* The first row that fits decides: a prefix behind cuda, cu, hip or hsa_, or a word anywhere. */
static const struct {
	struct str prefix, word; /* empty: any */
	enum call_kind kind;
} rules[] = {
	{ STR_INIT("GraphLaunch"), STR_INIT(""), CALL_GRAPH_LAUNCH },
	{ STR_INIT("GraphInstantiate"), STR_INIT(""), CALL_CAPTURE },
	{ STR_INIT("GraphExecUpdate"), STR_INIT(""), CALL_CAPTURE },
	{ STR_INIT("GraphUpload"), STR_INIT(""), CALL_CAPTURE },
	{ STR_INIT("StreamBeginCapture"), STR_INIT(""), CALL_CAPTURE },
	{ STR_INIT("StreamEndCapture"), STR_INIT(""), CALL_CAPTURE },
	{ STR_INIT("ModuleLoad"), STR_INIT(""), CALL_LOAD },
	{ STR_INIT("LibraryLoad"), STR_INIT(""), CALL_LOAD },
	{ STR_INIT("LinkCreate"), STR_INIT(""), CALL_LOAD },
	{ STR_INIT("LaunchHostFunc"), STR_INIT(""), CALL_OTHER },
	{ STR_INIT("Launch"), STR_INIT(""), CALL_LAUNCH },
	{ STR_INIT("ExtLaunch"), STR_INIT(""), CALL_LAUNCH },
	{ STR_INIT("ModuleLaunch"), STR_INIT(""), CALL_LAUNCH },
	{ STR_INIT("ExtModuleLaunch"), STR_INIT(""), CALL_LAUNCH },
	{ STR_INIT("HccModuleLaunch"), STR_INIT(""), CALL_LAUNCH },
	{ STR_INIT(""), STR_INIT("Synchronize"), CALL_SYNC },
	{ STR_INIT("signal_wait"), STR_INIT(""), CALL_SYNC },
	{ STR_INIT("Memcpy"), STR_INIT("Async"), CALL_COPY_ASYNC },
	{ STR_INIT("Memcpy"), STR_INIT(""), CALL_COPY_BLOCKING },
	{ STR_INIT("amd_memory_async_copy"), STR_INIT(""), CALL_COPY_ASYNC },
	{ STR_INIT("Memset"), STR_INIT(""), CALL_MEMSET },
	{ STR_INIT("MallocAsync"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("MallocFromPool"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("FreeAsync"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("MemAllocAsync"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("MemFreeAsync"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("MemAllocFromPool"), STR_INIT(""), CALL_POOL },
	{ STR_INIT("Malloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("Free"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("ExtMalloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("HostAlloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("HostMalloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("HostFree"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("HostRegister"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("HostUnregister"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemAlloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemFree"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemHostAlloc"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemCreate"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemMap"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemUnmap"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("MemRelease"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("memory_allocate"), STR_INIT(""), CALL_ALLOCATE },
	{ STR_INIT("amd_memory_pool_allocate"), STR_INIT(""), CALL_ALLOCATE },
};

static bool cut_prefix(struct str *name)
{
	static const struct str vendors[] = { STR_INIT("cuda"), STR_INIT("cu"), STR_INIT("hip"),
		STR_INIT("hsa_") };
	for (size_t i = 0; i < ARRAY_LEN(vendors); i++) {
		if (!str_starts(*name, vendors[i]))
			continue;
		name->s += vendors[i].len;
		name->len -= vendors[i].len;
		return true;
	}
	return false;
}

enum call_kind call_kind_of(struct str name)
{
	if (!cut_prefix(&name))
		return CALL_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (str_starts(name, rules[i].prefix) && str_find(name, rules[i].word) >= 0)
			return rules[i].kind;
	}
	return CALL_OTHER;
}

bool call_is_runtime(struct str name)
{
	static const struct str prefixes[] = { STR_INIT("cuda"), STR_INIT("cu"), STR_INIT("hip") };
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (str_starts(name, prefixes[i]) && name.len > prefixes[i].len &&
		        name.s[prefixes[i].len] >= 'A' && name.s[prefixes[i].len] <= 'Z')
			return true;
	return false;
}
