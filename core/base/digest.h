/* SHA-256 by OpenSSL's libcrypto (EVP). */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX 65		/* 64 hexadecimal digits, lower case, and a NUL */
#define DIGEST_TAGGED 72	/* "sha256:" and the above */

struct digest;			/* a running digest; heap, owned by the caller */

struct digest *digest_new(void);	/* NULL: out of memory */
void digest_free(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t length);
/* Ends the digest (no more may be added) and writes the 64 digits. */
void digest_hex(struct digest *digest, char ret_hex[static DIGEST_HEX]);

/* One call for bytes at hand. Aborts only where libcrypto cannot allocate. */
void digest_bytes(const void *bytes, size_t length, char ret_hex[static DIGEST_HEX]);
void digest_bytes_tagged(const void *bytes, size_t length, char ret_tagged[static DIGEST_TAGGED]);

#endif
