/* The digests of digest.h. */
#include "core/base/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct digest {
	EVP_MD_CTX *context;
};

struct digest *digest_new(void)
{
	struct digest *digest = malloc(sizeof *digest);
	if (!digest)
		return NULL;
	digest->context = EVP_MD_CTX_new();
	if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
		digest_free(digest);
		return NULL;
	}
	return digest;
}

void digest_free(struct digest *digest)
{
	if (!digest)
		return;
	EVP_MD_CTX_free(digest->context);
	free(digest);
}

void digest_add(struct digest *digest, const void *bytes, size_t length)
{
	if (EVP_DigestUpdate(digest->context, bytes, length) != 1)
		abort();
}

static void to_hex(const unsigned char *raw, size_t length, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < length; i++) {
		hex[2 * i] = digits[raw[i] >> 4];
		hex[2 * i + 1] = digits[raw[i] & 15];
	}
	hex[2 * length] = '\0';
}

void digest_hex(struct digest *digest, char ret_hex[static DIGEST_HEX])
{
	unsigned char raw[32];
	if (EVP_DigestFinal_ex(digest->context, raw, NULL) != 1)
		abort();
	to_hex(raw, sizeof raw, ret_hex);
}

void digest_bytes(const void *bytes, size_t length, char ret_hex[static DIGEST_HEX])
{
	unsigned char raw[32];
	if (EVP_Digest(bytes, length, raw, NULL, EVP_sha256(), NULL) != 1)
		abort();
	to_hex(raw, sizeof raw, ret_hex);
}

void digest_bytes_tagged(const void *bytes, size_t length, char ret_tagged[static DIGEST_TAGGED])
{
	memcpy(ret_tagged, "sha256:", 7);
	digest_bytes(bytes, length, ret_tagged + 7);
}
