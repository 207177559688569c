#include "record/records.h"
#include "records_sample.h"
#include "tap.h"

static bool open_bytes(
        struct records_reader *r, FILE **f, const void *bytes, size_t n, struct err *err)
{
	static char none[1];
	/* fmemopen takes no size of 0 */
	*f = n ? fmemopen((void *)bytes, n, "r") : fmemopen(none, 1, "r");
	if (n == 0)
		(void)fgetc(*f);
	return records_open(r, *f, "f.vrec", err);
}

static bool same_gaps(struct records_gaps a, struct records_gaps b)
{
	int64_t x, y;
	if (a.n != b.n || a.n_before != b.n_before || (a.n > 0 && a.from_ns != b.from_ns))
		return false;
	while (records_gap_next(&a, &x))
		if (!records_gap_next(&b, &y) || x != y || a.from_ns != b.from_ns)
			return false;
	return true;
}

static bool same_request(const struct records_request *a, const struct records_request *b)
{
	return a->ticket == b->ticket && a->worker == b->worker && a->connection == b->connection &&
	       a->target == b->target && a->outcome == b->outcome && a->status == b->status &&
	       a->in_window == b->in_window && a->retried == b->retried && a->stream == b->stream &&
	       a->planned_ns == b->planned_ns && a->sent_ns == b->sent_ns &&
	       a->first_byte_ns == b->first_byte_ns && a->first_token_ns == b->first_token_ns &&
	       a->first_visible_ns == b->first_visible_ns && a->last_token_ns == b->last_token_ns &&
	       a->end_ns == b->end_ns && a->worst_gap_ns == b->worst_gap_ns &&
	       a->token_events == b->token_events && a->first_tokens == b->first_tokens &&
	       a->input_tokens == b->input_tokens && a->output_tokens == b->output_tokens &&
	       a->source == b->source && same_gaps(a->gaps, b->gaps);
}

static bool same_entry(const struct records_entry *a, const struct records_entry *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == RECORDS_REQUEST)
		return same_request(&a->request, &b->request);
	return a->piece.ticket == b->piece.ticket && a->piece.worker == b->piece.worker &&
	       a->piece.in_window == b->piece.in_window && same_gaps(a->piece.gaps, b->piece.gaps);
}

/* Reads to the end; every entry must be the sample's next. */
static enum records_result read_all(
        struct records_reader *r, const struct sample *s, int *ret_n, struct err *err)
{
	struct records_entry entry;
	enum records_result result;
	int n = 0;
	while ((result = records_next(r, &entry, err)) == RECORDS_ENTRY) {
		if (!CHECK(n < SAMPLE_ENTRIES) || !CHECK(same_entry(&entry, &s->entries[n])))
			break;
		n++;
	}
	*ret_n = n;
	return result;
}

static void what_is_written_is_read(void)
{
	static struct sample s;
	struct records_reader r;
	struct err err;
	FILE *f;
	int n;
	sample_build(&s);
	if (!CHECK(open_bytes(&r, &f, s.file.s, s.file.len, &err)))
		return;
	CHECK(str_eq(r.head.url, STR("http://h/\xc3\xa9\"")));
	CHECK(str_eq(r.head.started_at, STR("2026-01-02T03:04:05Z")));
	CHECK_INT(r.head.monotonic_ns, 123);
	CHECK_INT(r.head.realtime_ns, 1767323045000000123);
	CHECK_INT(read_all(&r, &s, &n, &err), RECORDS_END);
	CHECK_INT(n, SAMPLE_ENTRIES);
	CHECK(r.is_whole && r.done.partial);
	CHECK_INT(r.done.window_start_ns, 4);
	CHECK_INT(r.done.window_end_ns, 4000000000);
	CHECK_INT(r.done.requests, 5);
	CHECK_INT(r.done.lost_requests, 2);
	CHECK_INT(r.done.lost_gaps, 300);
	CHECK_INT(r.whole_bytes, s.file.len);
	records_close(&r);
	fclose(f);
	buf_release(&s.file);
}

static void a_file_cut_at_any_byte_gives_its_whole_blocks(void)
{
	static struct sample s;
	sample_build(&s);
	for (size_t cut = 0; cut < s.file.len; cut++) {
		struct records_reader r;
		struct err err = { 0 };
		FILE *f;
		int n, want = 0;
		bool opened = open_bytes(&r, &f, s.file.s, cut, &err);
		CHECK_INT(opened, cut >= s.head_end);
		if (!opened) {
			CHECK_INT(err.kind, ERR_INPUT);
			CHECK(strstr(err.text, "'f.vrec'"));
			fclose(f);
			continue;
		}
		size_t whole = s.head_end;
		for (int i = 0; i < SAMPLE_BLOCKS && s.block_end[i] <= cut; i++) {
			want += 2;
			whole = s.block_end[i];
		}
		CHECK_INT(read_all(&r, &s, &n, &err), RECORDS_END);
		CHECK_INT(n, want);
		CHECK(!r.is_whole);
		CHECK_INT(r.whole_bytes, whole);
		records_close(&r);
		fclose(f);
	}
	buf_release(&s.file);
}

static void no_changed_byte_goes_unnoticed(void)
{
	static struct sample s;
	sample_build(&s);
	for (size_t at = 0; at < s.file.len; at++) {
		struct records_reader r;
		struct err err = { 0 };
		FILE *f;
		int n;
		s.file.s[at] ^= (char)(1 << (at % 8));
		if (open_bytes(&r, &f, s.file.s, s.file.len, &err)) {
			enum records_result result = read_all(&r, &s, &n, &err);
			/* A length that reaches beyond the file looks like a file cut short. */
			CHECK(result == RECORDS_DAMAGED || !r.is_whole);
			if (result == RECORDS_DAMAGED)
				CHECK(err.kind == ERR_INPUT &&
				        strstr(err.text, "'f.vrec' is damaged at byte"));
			records_close(&r);
		} else {
			CHECK(at < s.head_end && err.kind == ERR_INPUT);
		}
		fclose(f);
		s.file.s[at] ^= (char)(1 << (at % 8));
	}
	buf_release(&s.file);
}

/* CRC-32 of ISO 3309 as its definition says, bit by bit. */
static uint32_t crc_by_definition(const uint8_t *bytes, size_t n, uint32_t crc)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return crc;
}

/* Written by hand from docs/records.md, so that the format cannot change by mistake. */
static const uint8_t by_hand[] = {
	0x89,
	'V',
	'R',
	'E',
	'C',
	'\r',
	'\n',
	0x1a,
	1,
	0,
	0,
	0, /* magic, version */
	'H',
	'E',
	'A',
	'D',
	2,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	'{',
	'}', /* header: no member */
	'R',
	'E',
	'C',
	'S',
	34,
	0,
	0,
	0,
	0,
	0,
	0,
	0, /* entries */
	5, /* thread 5 */
	/* piece in the window: ticket 2, event at 150 ns, no gap before, one of 50 ns */
	0x03,
	0x04,
	0xac,
	0x02,
	0,
	1,
	50,
	/* request: in the window, stream, byte, token, visible, input, output by ids, censored */
	0xfa,
	0x17,
	0x00, /* ticket 2 + 0 */
	0x07,
	0x01, /* connection 7, target 1 */
	0xc8,
	0x01, /* status 200 */
	0xa8,
	0x02, /* end 150 + 148 = 298 */
	0xa8,
	0x03, /* sent 298 - 212 = 86 */
	0x0c, /* planned 86 - 6 = 80 */
	0x14, /* first byte 86 + 10 = 96 */
	0x80,
	0x01, /* first token 86 + 64 = 150 */
	0x78, /* last token 150 + 60 = 210 */
	50,
	3,
	1, /* worst gap, events, tokens of the first */
	1,
	1,
	10, /* one gap before, one here of 10 ns */
	0x80,
	0x01, /* first visible 86 + 64 */
	9,
	4, /* input, output tokens */
	'D',
	'O',
	'N',
	'E',
	6,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0x02,
	0x0a,
	1,
	0,
	0,
};

/* Fills in the sums of the three blocks, whose frames begin at these places. */
static void sign(uint8_t *bytes, size_t frame)
{
	size_t n = bytes[frame + 4];
	uint32_t crc = crc_by_definition(bytes + frame, 8, 0xffffffff);
	crc = ~crc_by_definition(bytes + frame + 12, n, crc);
	for (int i = 0; i < 4; i++)
		bytes[frame + 8 + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

static void a_file_written_by_hand_is_read(void)
{
	uint8_t bytes[sizeof(by_hand)];
	struct records_reader r;
	struct records_entry e;
	struct err err = { 0 };
	int64_t gap = 0;
	FILE *f;
	memcpy(bytes, by_hand, sizeof(bytes));
	sign(bytes, 12);
	sign(bytes, 26);
	sign(bytes, sizeof(bytes) - 18);
	if (!CHECK(open_bytes(&r, &f, bytes, sizeof(bytes), &err))) {
		printf("# %s\n", err.text);
		return;
	}
	CHECK_INT(records_next(&r, &e, &err), RECORDS_ENTRY);
	CHECK(e.kind == RECORDS_PIECE && e.piece.in_window);
	CHECK_INT(e.piece.ticket, 2);
	CHECK_INT(e.piece.worker, 5);
	CHECK_INT(e.piece.gaps.from_ns, 150);
	CHECK(records_gap_next(&e.piece.gaps, &gap) && gap == 50);
	CHECK(!records_gap_next(&e.piece.gaps, &gap));
	CHECK_INT(records_next(&r, &e, &err), RECORDS_ENTRY);
	const struct records_request want = { .ticket = 2,
		.worker = 5,
		.connection = 7,
		.target = 1,
		.outcome = RECORDS_CENSORED,
		.status = 200,
		.in_window = true,
		.stream = true,
		.planned_ns = 80,
		.sent_ns = 86,
		.first_byte_ns = 96,
		.first_token_ns = 150,
		.first_visible_ns = 150,
		.last_token_ns = 210,
		.end_ns = 298,
		.worst_gap_ns = 50,
		.token_events = 3,
		.first_tokens = 1,
		.input_tokens = 9,
		.output_tokens = 4,
		.source = LOAD_TOKENS_IDS,
		.gaps = { (const uint8_t *)"\x0a", 1, 1, 1, 200 } };
	CHECK(e.kind == RECORDS_REQUEST && same_request(&e.request, &want));
	CHECK_INT(records_next(&r, &e, &err), RECORDS_END);
	CHECK(r.is_whole && r.done.requests == 1 && r.done.window_start_ns == 1 &&
	        r.done.window_end_ns == 5);
	records_close(&r);
	fclose(f);
}

static void the_checksum_is_the_crc_of_iso_3309(void)
{
	static struct sample s;
	sample_build(&s);
	const uint8_t *frame = (const uint8_t *)s.file.s + s.head_end;
	size_t n = s.block_end[0] - s.head_end - RECORDS_FRAME_BYTES;
	/* The check value of the catalogue of CRCs, to trust the definition above. */
	CHECK_INT((uint32_t)~crc_by_definition((const uint8_t *)"123456789", 9, 0xffffffff),
	        0xcbf43926u);
	uint32_t crc = crc_by_definition(frame, 8, 0xffffffff);
	crc = ~crc_by_definition(frame + RECORDS_FRAME_BYTES, n, crc);
	for (int i = 0; i < 4; i++)
		CHECK_INT(frame[8 + i], (crc >> (8 * i)) & 0xff);
	buf_release(&s.file);
}

static void what_is_no_file_of_records_is_refused(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} cases[] = {
		{ "", 0, "'f.vrec' is no file of records" },
		{ "ticket,thread\n", 14, "'f.vrec' is no file of records" },
		{ "\x89VREC\r\n\x1a\x02\0\0\0", 12, "version 2" },
		{ "\x89VREC\r\n\x1a\x01\0\0\0", 12, "'f.vrec' ends before its header" },
		{ "\x89VREC\r\n\x1a\x01\0\0\0HEAD\x01\0\x10\0\0\0\0\0", 24,
		        "at byte 12: a block is longer" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct records_reader r;
		struct err err = { 0 };
		FILE *f;
		CHECK(!open_bytes(&r, &f, cases[i].bytes, cases[i].n, &err));
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, cases[i].says)))
			printf("# %s\n", err.text);
		fclose(f);
	}
}

static void metrics_are_those_of_the_histograms(void)
{
	static struct sample s;
	sample_fill(&s);
	const struct records_request *plain = &s.entries[0].request,
	                             *stream = &s.entries[1].request;
	static const struct {
		enum load_metric metric;
		int64_t plain, stream; /* RECORDS_NONE: has none */
	} cases[] = {
		{ LOAD_LATENCY, 990, 1000003 * INT64_C(4950) + 2050 - 11 },
		{ LOAD_RESPONSE, 995, 1000003 * INT64_C(4950) + 2050 - 10 },
		{ LOAD_TTFB, 890, 489 },
		{ LOAD_TTFT, RECORDS_NONE, 1989 },
		{ LOAD_TTFO, RECORDS_NONE, 1989 + 1000003 },
		{ LOAD_ITL, RECORDS_NONE, RECORDS_NONE },
		{ LOAD_WORST_GAP, RECORDS_NONE, 99 * 1000003 },
		/* 205 tokens, two of them in the first event */
		{ LOAD_TPOT, RECORDS_NONE, 1000003 * INT64_C(4950) / 203 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = RECORDS_NONE;
		bool has = records_metric_ns(plain, cases[i].metric, &ns);
		CHECK_INT(has, cases[i].plain != RECORDS_NONE);
		if (has)
			CHECK_INT(ns, cases[i].plain);
		has = records_metric_ns(stream, cases[i].metric, &ns);
		CHECK_INT(has, cases[i].stream != RECORDS_NONE);
		if (has)
			CHECK_INT(ns, cases[i].stream);
	}
}

int main(void)
{
	TAP_RUN(what_is_written_is_read);
	TAP_RUN(a_file_cut_at_any_byte_gives_its_whole_blocks);
	TAP_RUN(no_changed_byte_goes_unnoticed);
	TAP_RUN(a_file_written_by_hand_is_read);
	TAP_RUN(the_checksum_is_the_crc_of_iso_3309);
	TAP_RUN(what_is_no_file_of_records_is_refused);
	TAP_RUN(metrics_are_those_of_the_histograms);
	return tap_done();
}
