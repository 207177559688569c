#include "watch/perf/profile_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 32 };

/* What of the file comes to lie where; symbols tell addresses. */
struct segments {
	struct {
		uint64_t address, offset, n_bytes;
	} loaded[SEGMENTS_MAX];
	size_t n;
	uint64_t unwind_address, unwind_offset, unwind_bytes; /* of .eh_frame_hdr; 0 bytes: none */
};

static void read_segments(Elf *elf, struct segments *ret_segments)
{
	size_t n = 0;
	struct segments s = { 0 };
	if (elf_getphdrnum(elf, &n) != 0)
		n = 0;
	for (size_t i = 0; i < n && i < 1024; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(elf, (int)i, &p))
			continue;
		if (p.p_type == PT_LOAD && s.n < SEGMENTS_MAX) {
			s.loaded[s.n].address = p.p_vaddr;
			s.loaded[s.n].offset = p.p_offset;
			s.loaded[s.n++].n_bytes = p.p_filesz;
		} else if (p.p_type == PT_GNU_EH_FRAME) {
			s.unwind_address = p.p_vaddr;
			s.unwind_offset = p.p_offset;
			s.unwind_bytes = p.p_filesz;
		}
	}
	*ret_segments = s;
}

static bool offset_of(const struct segments *s, uint64_t address, uint64_t *ret_offset)
{
	for (size_t i = 0; i < s->n; i++) {
		uint64_t into = address - s->loaded[i].address;
		if (address >= s->loaded[i].address && into < s->loaded[i].n_bytes) {
			*ret_offset = s->loaded[i].offset + into;
			return true;
		}
	}
	return false;
}

static bool is_code(Elf *elf, const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	GElf_Shdr header;
	Elf_Scn *section = type == STT_NOTYPE && symbol->st_shndx < SHN_LORESERVE
	                           ? elf_getscn(elf, symbol->st_shndx)
	                           : NULL;
	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

static void offer_symbols(struct names *set, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
        const struct segments *segments)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym symbol;
		uint64_t offset;
		if (!gelf_getsym(data, (int)i, &symbol) || !is_code(elf, &symbol) ||
		        !offset_of(segments, symbol.st_value, &offset))
			continue;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		/* "$x" and ".L5" are marks of assemblers. */
		if (!name || !name[0] || name[0] == '$' || strncmp(name, ".L", 2) == 0)
			continue;
		names_offer(set, offset, symbol.st_size, symbol.st_size ? NAME_SIZED : NAME_START,
		        str_of(name), false);
	}
}

static void offer_tables(struct names *set, Elf *elf, const struct segments *segments)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_size > PROFILE_SYMBOLS_BYTES_MAX)
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			offer_symbols(set, elf, section, &header, segments);
	}
}

static int32_t word_at(const uint8_t *bytes)
{
	int32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/*
 * Where functions begin, from the sorted table by which exceptions find their way, in the only
 * encoding that linkers write: after 4 bytes of encodings the place of .eh_frame and a count of 4
 * bytes each, then pairs of 4 bytes, relative to the table's own address.
 */
static void offer_functions(struct names *set, Elf *elf, const struct segments *s)
{
	enum { HEADER = 12, ENTRY = 8, LAST_BYTES = 65536 };
	static const uint8_t encodings[] = { 1, 0x1b, 0x03, 0x3b };
	if (s->unwind_bytes < HEADER || s->unwind_bytes > PROFILE_SYMBOLS_BYTES_MAX)
		return;
	Elf_Data *data =
	        elf_getdata_rawchunk(elf, (int64_t)s->unwind_offset, s->unwind_bytes, ELF_T_BYTE);
	if (!data || data->d_size < HEADER || memcmp(data->d_buf, encodings, 4) != 0)
		return;
	const uint8_t *bytes = data->d_buf;
	size_t n = (uint32_t)word_at(bytes + 8), fit = (data->d_size - HEADER) / ENTRY;
	for (size_t i = 0; i < n && i < fit; i++) {
		const uint8_t *entry = bytes + HEADER + i * ENTRY;
		bool is_last = i + 1 == n || i + 1 == fit;
		int64_t from = word_at(entry),
		        to = is_last ? from + LAST_BYTES : word_at(entry + ENTRY);
		uint64_t offset;
		if (to > from && offset_of(s, s->unwind_address + (uint64_t)from, &offset))
			names_offer(
			        set, offset, (uint64_t)(to - from), NAME_FUNCTION, STR(""), false);
	}
}

/* The function without a name is told by its address, as a disassembler shows it. */
static void name_functions(struct names *set, const struct segments *s)
{
	for (size_t i = 0; i < set->n; i++) {
		struct named *w = &set->wanted[i];
		uint64_t address = w->from;
		for (size_t j = 0; j < s->n; j++)
			if (w->from - s->loaded[j].offset < s->loaded[j].n_bytes)
				address = w->from - s->loaded[j].offset + s->loaded[j].address;
		if (w->rank == NAME_FUNCTION)
			snprintf(w->name, sizeof(w->name), "[unknown+0x%" PRIx64 "]", address);
	}
}

static void read_build_id(Elf *elf, char ret_build_id[PROFILE_BUILD_ID_BYTES])
{
	ret_build_id[0] = '\0';
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		size_t at = 0, name_at, text_at;
		GElf_Nhdr note;
		while (data && (at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0) {
			const uint8_t *bytes = (const uint8_t *)data->d_buf + text_at;
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			        memcmp((const char *)data->d_buf + name_at, "GNU", 4) != 0 ||
			        note.n_descsz * 2 >= PROFILE_BUILD_ID_BYTES)
				continue;
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(ret_build_id + 2 * i, 3, "%02x", bytes[i]);
			return;
		}
	}
}

/* Debug information that a distribution keeps beside what it stripped. */
static void offer_debug_file(
        struct names *set, const char *build_id, const struct segments *segments)
{
	char path[128];
	if (strlen(build_id) < 3)
		return;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
	        build_id + 2);
	AUTO(auto_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		offer_tables(set, elf, segments);
	elf_end(elf);
}

static void read_all(struct names *set, Elf *elf, char ret_build_id[PROFILE_BUILD_ID_BYTES])
{
	struct segments segments;
	read_segments(elf, &segments);
	read_build_id(elf, ret_build_id);
	offer_tables(set, elf, &segments);
	offer_debug_file(set, ret_build_id, &segments);
	offer_functions(set, elf, &segments);
	names_finish(set);
	name_functions(set, &segments);
}

bool profile_elf_read(struct names *set, int fd, char ret_build_id[PROFILE_BUILD_ID_BYTES])
{
	elf_version(EV_CURRENT);
	/* Not mapped: a file that shrinks meanwhile would end us. */
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool ok = elf && elf_kind(elf) == ELF_K_ELF;
	if (ok)
		read_all(set, elf, ret_build_id);
	elf_end(elf);
	return ok;
}

/* Its size is not told, but its tables of sections lie at its end. */
static size_t vdso_bytes(const char *image)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	        header->e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	return header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
}

bool profile_elf_read_vdso(struct names *set)
{
	char build_id[PROFILE_BUILD_ID_BYTES];
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	size_t n = image ? vdso_bytes(image) : 0;
	elf_version(EV_CURRENT);
	Elf *elf = n > 0 && n <= 65536 ? elf_memory(image, n) : NULL;
	if (elf)
		read_all(set, elf, build_id);
	elf_end(elf);
	return elf != NULL;
}

const char *profile_elf_why_not(void)
{
	return NULL;
}
