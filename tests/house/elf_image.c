/* Reading ELF files (elf_image.h). Offsets come from files that our own linker wrote, and are checked all the same. */
#include "tests/house/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/io.h"

#define IMAGE_MAX_BYTES ((size_t)512 << 20)

int elf_image_open(struct elf_image *image, const char *path)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	int r = io_read_file(AT_FDCWD, path, IMAGE_MAX_BYTES, &bytes);
	if (r < 0)
		return r;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes.data;
	if (bytes.length < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) > bytes.length ||
	    header->e_phoff + (uint64_t)header->e_phnum * sizeof(Elf64_Phdr) > bytes.length)
		return -ENOEXEC;
	image->length = bytes.length;
	image->bytes = (unsigned char *)buffer_take(&bytes);
	return 0;
}

void elf_image_close(struct elf_image *image)
{
	free(image->bytes);
	*image = (struct elf_image){ 0 };
}

static const Elf64_Ehdr *header_of(const struct elf_image *image)
{
	return (const Elf64_Ehdr *)image->bytes;
}

static const Elf64_Shdr *section(const struct elf_image *image, unsigned index)
{
	const Elf64_Ehdr *header = header_of(image);
	if (index >= header->e_shnum)
		return NULL;
	const Elf64_Shdr *found = (const Elf64_Shdr *)(image->bytes + header->e_shoff) + index;
	if (found->sh_type != SHT_NOBITS && found->sh_offset + found->sh_size > image->length)
		return NULL;
	return found;
}

/* A string of a string table, "" where it points out of it. */
static const char *string_at(const struct elf_image *image, const Elf64_Shdr *table, uint64_t at)
{
	if (!table || at >= table->sh_size || image->bytes[table->sh_offset + table->sh_size - 1] != '\0')
		return "";
	return (const char *)image->bytes + table->sh_offset + at;
}

int elf_image_needed(const struct elf_image *image, char ret_names[][128], int size)
{
	int count = 0;
	for (unsigned i = 0; i < header_of(image)->e_shnum; i++) {
		const Elf64_Shdr *dynamic = section(image, i);
		if (!dynamic || dynamic->sh_type != SHT_DYNAMIC)
			continue;
		const Elf64_Shdr *names = section(image, dynamic->sh_link);
		const Elf64_Dyn *entries = (const Elf64_Dyn *)(image->bytes + dynamic->sh_offset);
		for (size_t n = 0; n < dynamic->sh_size / sizeof *entries; n++) {
			if (entries[n].d_tag != DT_NEEDED)
				continue;
			if (count < size)
				snprintf(ret_names[count], 128, "%s", string_at(image, names, entries[n].d_un.d_val));
			count++;
		}
	}
	return count < size ? count : size;
}

bool elf_image_defines(const struct elf_image *image, const char *name)
{
	size_t length = strlen(name);
	for (unsigned i = 0; i < header_of(image)->e_shnum; i++) {
		const Elf64_Shdr *table = section(image, i);
		if (!table || (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM))
			continue;
		const Elf64_Shdr *names = section(image, table->sh_link);
		const Elf64_Sym *symbols = (const Elf64_Sym *)(image->bytes + table->sh_offset);
		for (size_t n = 0; n < table->sh_size / sizeof *symbols; n++) {
			const char *symbol = string_at(image, names, symbols[n].st_name);
			if (ELF64_ST_BIND(symbols[n].st_info) == STB_GLOBAL && strncmp(symbol, name, length) == 0 &&
			    (symbol[length] == '\0' || symbol[length] == '.'))
				return true;
		}
	}
	return false;
}

bool elf_image_loads(const struct elf_image *image, const void *bytes, size_t length)
{
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(image->bytes + header_of(image)->e_phoff);
	for (unsigned i = 0; i < header_of(image)->e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];
		if (segment->p_type != PT_LOAD || segment->p_offset + segment->p_filesz > image->length)
			continue;
		if (memmem(image->bytes + segment->p_offset, segment->p_filesz, bytes, length))
			return true;
	}
	return false;
}
