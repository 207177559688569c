/*
 * fuzz_tokenizer.c - any bytes as a tokenizer.json, and the same bytes as a text for it.
 */
#include "token/tokenizer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 4096 };

static void encode(const struct tokenizer *t, struct str text)
{
	struct detokenizer d;
	AUTO(auto_buf) struct buf out = { 0 };
	for (unsigned flags = 0; flags < 4; flags++) {
		int32_t *ids;
		size_t n;
		tokenizer_encode(t, text, flags, &ids, &n);
		detokenizer_init(&d, t, true);
		for (size_t i = 0; i < n; i++) {
			if (ids[i] < 0 || ids[i] >= tokenizer_size(t))
				abort();
			detokenizer_add(&d, ids[i], &out);
		}
		detokenizer_end(&d, &out);
		free(ids);
	}
	if (!utf8_valid(buf_str(&out).s, out.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tokenizer *t;
	struct err err;
	struct str text = { (const char *)data, size };
	if (!tokenizer_open_json(text, &t, &err))
		return 0;
	if (text.len > TEXT_BYTES_MAX)
		text.len = TEXT_BYTES_MAX;
	encode(t, STR("Once upon a\xFF \xE4\xBB\x8E time, 123  cafe\xCC\x81 <s> \r\n\n  's"));
	encode(t, text);
	tokenizer_close(t);
	return 0;
}
