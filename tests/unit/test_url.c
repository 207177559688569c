#include "net/url.h"

#include "tap.h"

static void urls_are_taken_apart(void)
{
	static const struct {
		const char *text;
		bool tls;
		const char *host;
		int port;
		const char *path, *authority;
	} cases[] = {
		{ "http://example.com", false, "example.com", 80, "/", "example.com" },
		{ "https://example.com/", true, "example.com", 443, "/", "example.com" },
		{ "HTTPS://Example.COM/V1", true, "Example.COM", 443, "/V1", "Example.COM" },
		{ "http://127.0.0.1:8000/v1/chat/completions", false, "127.0.0.1", 8000,
		        "/v1/chat/completions", "127.0.0.1:8000" },
		{ "localhost:8000", false, "localhost", 8000, "/", "localhost:8000" },
		{ "gpu-7_a.local/v1", false, "gpu-7_a.local", 80, "/v1", "gpu-7_a.local" },
		{ "http://h:80/", false, "h", 80, "/", "h" },
		{ "https://h:443/", true, "h", 443, "/", "h" },
		{ "https://h:80/", true, "h", 80, "/", "h:80" },
		{ "http://h:65535", false, "h", 65535, "/", "h:65535" },
		{ "http://h:00080", false, "h", 80, "/", "h" },
		{ "http://[::1]:8000/a", false, "::1", 8000, "/a", "[::1]:8000" },
		{ "http://[2001:db8::7]", false, "2001:db8::7", 80, "/", "[2001:db8::7]" },
		{ "[::ffff:192.0.2.1]:1/x", false, "::ffff:192.0.2.1", 1, "/x",
		        "[::ffff:192.0.2.1]:1" },
		{ "http://h?q=1", false, "h", 80, "/?q=1", "h" },
		{ "http://h/a?q=1#part", false, "h", 80, "/a?q=1", "h" },
		{ "http://h#part", false, "h", 80, "/", "h" },
		{ "h/login?next=http://x/y@z", false, "h", 80, "/login?next=http://x/y@z", "h" },
		{ "h?next=http://x", false, "h", 80, "/?next=http://x", "h" },
		{ "http://h//a/../b%20c", false, "h", 80, "//a/../b%20c", "h" },
		{ "http://h/\xE4\xBD\xA0", false, "h", 80, "/%E4%BD%A0", "h" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct url url;
		struct err err;
		if (!CHECK(url_parse(cases[i].text, &run, &url, &err))) {
			printf("#   %s\n", err.text);
			continue;
		}
		CHECK_STR(url.text, cases[i].text);
		CHECK(url.tls == cases[i].tls);
		CHECK_STR(url.host, cases[i].host);
		CHECK_INT(url.port, cases[i].port);
		CHECK_STR(url.path, cases[i].path);
		CHECK_STR(url.authority, cases[i].authority);
	}
	arena_release(&run);
}

#define BAD_PORT(text) "the port in '" text "' is not a number from 1 to 65535"
#define BAD_SCHEME(text) "'" text "' is neither http:// nor https://"
#define TWO_COLONS(text) "there is more than one colon in the host of '" text "'"
#define NO_HOST(text) "there is no host in '" text "'"
#define SPACE(text) "there is a space or a control character in the URL '" text "'"

static void what_is_no_url_is_a_usage_error_that_says_why(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "the URL is empty" },
		{ "http://", NO_HOST("http://") },
		{ "http:///v1", NO_HOST("http:///v1") },
		{ "/v1", NO_HOST("/v1") },
		{ ":8000", NO_HOST(":8000") },
		{ "?q", NO_HOST("?q") },
		{ "http://h:0", BAD_PORT("http://h:0") },
		{ "http://h:65536", BAD_PORT("http://h:65536") },
		{ "http://h:4294967376", BAD_PORT("http://h:4294967376") },
		{ "http://h:99999999999999999999", BAD_PORT("http://h:99999999999999999999") },
		{ "http://h:-1", BAD_PORT("http://h:-1") },
		{ "http://h:80a/", BAD_PORT("http://h:80a/") },
		{ "http://h:/v1", BAD_PORT("http://h:/v1") },
		{ "http:/h", BAD_PORT("http:/h") },
		{ "http://[::1]:", BAD_PORT("http://[::1]:") },
		{ "ftp://h", BAD_SCHEME("ftp://h") },
		{ "unix:///run/x", BAD_SCHEME("unix:///run/x") },
		{ "://h", BAD_SCHEME("://h") },
		{ "http://a b/", SPACE("http://a b/") },
		{ " http://h", SPACE(" http://h") },
		{ "http://h/a\nb", SPACE("http://h/a\nb") },
		{ "http://h/\x7F", SPACE("http://h/\x7F") },
		{ "http://me@h/", "there is a user name in the URL" },
		{ "http://me:secret@h:80/", "there is a user name in the URL" },
		{ "::1:8000", TWO_COLONS("::1:8000") },
		{ "http://2001:db8::7/", TWO_COLONS("http://2001:db8::7/") },
		{ "http://[::1", "the brackets in 'http://[::1' do not fit" },
		{ "http://[::1]8000", "the brackets in 'http://[::1]8000' do not fit" },
		{ "http://[::g]/", "'::g' in 'http://[::g]/' is not an IPv6 address" },
		{ "http://[]/", "'' in 'http://[]/' is not an IPv6 address" },
		{ "http://[127.0.0.1]/",
		        "'127.0.0.1' in 'http://[127.0.0.1]/' is not an IPv6 address" },
		{ "http://h]/", "'h]' in 'http://h]/' is not the name of a host" },
		{ "http://\xE4\xBD\xA0/",
		        "'\xE4\xBD\xA0' in 'http://\xE4\xBD\xA0/' is not the name of a host" },
		{ "http://h\\x/", "'h\\x' in 'http://h\\x/' is not the name of a host" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct url url = { .port = 7 };
		struct err err = { 0 };
		CHECK(!url_parse(cases[i].text, &run, &url, &err));
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK_STR(err.text, cases[i].want);
		CHECK(url.port == 7 && !url.host);
	}
	arena_release(&run);
}

static void a_secret_in_a_url_is_not_repeated(void)
{
	struct arena run = { 0 };
	struct url url;
	struct err err = { 0 };
	CHECK(!url_parse("http://me:secret@h/", &run, &url, &err));
	CHECK(!strstr(err.text, "secret") && !strstr(err.hint, "secret"));
	arena_release(&run);
}

static void lengths_have_limits(void)
{
	struct arena run = { 0 };
	struct url url;
	struct err err;
	char text[URL_MAX + 2] = { 0 };
	memset(text, 'a', 254);
	CHECK(!url_parse(text, &run, &url, &err));
	text[253] = '\0'; /* RFC 1035, section 2.3.4: 255 bytes on the wire, 253 as text */
	CHECK(url_parse(text, &run, &url, &err));
	memset(text, 'a', sizeof(text) - 1);
	text[1] = '/';
	CHECK(!url_parse(text, &run, &url, &err));
	CHECK_STR(err.text, "the URL is longer than 8192 bytes");
	text[URL_MAX] = '\0';
	CHECK(url_parse(text, &run, &url, &err));
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(urls_are_taken_apart);
	TAP_RUN(what_is_no_url_is_a_usage_error_that_says_why);
	TAP_RUN(a_secret_in_a_url_is_not_repeated);
	TAP_RUN(lengths_have_limits);
	return tap_done();
}
