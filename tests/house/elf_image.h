/* What stands in an ELF file (elf(5)): libraries it needs, its symbols, the bytes that are loaded. 64-bit, our own byte order. */
#ifndef TESTS_HOUSE_ELF_IMAGE_H
#define TESTS_HOUSE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

struct elf_image {
	unsigned char *bytes;
	size_t length;
};

/* 0 or a negative errno; -ENOEXEC for what is no such file. */
int elf_image_open(struct elf_image *image, const char *path);
void elf_image_close(struct elf_image *image);

/* Names of DT_NEEDED; how many there are, the first `size` of them in `ret_names`. */
int elf_image_needed(const struct elf_image *image, char ret_names[][128], int size);

/*
 * Is a global symbol of this name in .symtab or .dynsym? A static inline function of a header, which a build without
 * optimisation keeps a local copy of, is none. What a clone adds after "." does not count.
 */
bool elf_image_defines(const struct elf_image *image, const char *name);

/* Do the bytes stand in what the program loads (not in debug information)? */
bool elf_image_loads(const struct elf_image *image, const void *bytes, size_t length);

#endif
