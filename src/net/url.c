#include "net/url.h"

#include "base/i18n.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

enum { PORT_HTTP = 80, PORT_HTTPS = 443, PORT_MAX = 65535, HOST_MAX = 253 };

static const struct scheme {
	struct str name;
	bool tls;
	int port;
} schemes[] = {
	{ { "http", 4 }, false, PORT_HTTP },
	{ { "https", 5 }, true, PORT_HTTPS },
};

static bool check_text(const char *text, struct err *err)
{
	size_t n = strlen(text);
	if (n == 0)
		return err_set(err, ERR_USAGE, _("the URL is empty"));
	if (n > URL_MAX)
		return err_set(err, ERR_USAGE, _("the URL is longer than %d bytes"), URL_MAX);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return err_set(err, ERR_USAGE,
			        _("there is a space or a control character in the URL '%s'"), text);
	return true;
}

/* Takes "https://" off the front of rest. "://" after a path or a query began is no scheme's. */
static bool parse_scheme(struct url *url, struct str *rest, struct err *err)
{
	const struct str mark = STR("://");
	ptrdiff_t n = str_find(*rest, mark);
	bool given = n >= 0 && strcspn(url->text, "/?#") == (size_t)n + 1;
	struct str name = given ? (struct str){ rest->s, (size_t)n } : STR("http");
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (!str_eq_nocase(name, schemes[i].name))
			continue;
		size_t skip = given ? name.len + mark.len : 0;
		*rest = (struct str){ rest->s + skip, rest->len - skip };
		url->tls = schemes[i].tls;
		url->port = schemes[i].port;
		return true;
	}
	return err_set(err, ERR_USAGE, _("'%s' is neither http:// nor https://"), url->text);
}

static bool parse_port(struct url *url, struct str digits, struct err *err)
{
	int port = 0;
	for (size_t i = 0; i < digits.len && port <= PORT_MAX; i++)
		port = isdigit((unsigned char)digits.s[i]) ? port * 10 + (digits.s[i] - '0')
		                                           : PORT_MAX + 1;
	if (port < 1 || port > PORT_MAX)
		return err_set(err, ERR_USAGE, _("the port in '%s' is not a number from 1 to %d"),
		        url->text, PORT_MAX);
	url->port = port;
	return true;
}

static bool check_ipv6(struct url *url, struct err *err)
{
	struct in6_addr address;
	if (inet_pton(AF_INET6, url->host, &address) == 1)
		return true;
	return err_set(
	        err, ERR_USAGE, _("'%s' in '%s' is not an IPv6 address"), url->host, url->text);
}

static bool check_name(struct url *url, struct err *err)
{
	size_t n = strlen(url->host);
	if (n == 0)
		return err_set(err, ERR_USAGE, _("there is no host in '%s'"), url->text);
	bool good = n <= HOST_MAX;
	for (const char *c = url->host; *c; c++)
		good &= isalnum((unsigned char)*c) || *c == '-' || *c == '.' || *c == '_';
	if (good)
		return true;
	return err_set(
	        err, ERR_USAGE, _("'%s' in '%s' is not the name of a host"), url->host, url->text);
}

/* "[::1]:8000": the address between the brackets, then the port. */
static bool parse_bracketed(
        struct url *url, struct str authority, struct arena *run, struct err *err)
{
	struct str after;
	struct str address = str_cut(authority, ']', &after);
	url->host = str_c((struct str){ address.s + 1, address.len - 1 }, run);
	if (!memchr(authority.s, ']', authority.len) || (after.len && after.s[0] != ':'))
		return err_set(err, ERR_USAGE, _("the brackets in '%s' do not fit"), url->text);
	if (!check_ipv6(url, err))
		return false;
	return !after.len || parse_port(url, (struct str){ after.s + 1, after.len - 1 }, err);
}

static bool parse_host(struct url *url, struct str authority, struct arena *run, struct err *err)
{
	if (authority.len && authority.s[0] == '[')
		return parse_bracketed(url, authority, run, err);
	struct str port;
	struct str name = str_cut(authority, ':', &port);
	if (port.len && memchr(port.s, ':', port.len)) {
		err_set(err, ERR_USAGE, _("there is more than one colon in the host of '%s'"),
		        url->text);
		return err_hint(err, _("write an IPv6 address in brackets: [::1]:8000"));
	}
	url->host = str_c(name, run);
	if (!check_name(url, err))
		return false;
	return name.len == authority.len || parse_port(url, port, err);
}

/* The path as it goes on the request line: bytes that are not ASCII are percent-encoded. */
static const char *make_path(struct str path, struct arena *run)
{
	char *out = arena_alloc(run, 1 + path.len * strlen("%XX") + 1), *to = out;
	if (path.len == 0 || path.s[0] != '/')
		*to++ = '/';
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.s[i];
		if (c < 0x80) {
			*to++ = path.s[i];
			continue;
		}
		*to++ = '%';
		*to++ = "0123456789ABCDEF"[c >> 4];
		*to++ = "0123456789ABCDEF"[c & 15];
	}
	return out;
}

static const char *make_authority(const struct url *url, struct arena *run)
{
	bool ipv6 = strchr(url->host, ':') != NULL;
	const char *host = ipv6 ? arena_printf(run, "[%s]", url->host) : url->host;
	if (url->port == (url->tls ? PORT_HTTPS : PORT_HTTP))
		return host;
	return arena_printf(run, "%s:%d", host, url->port);
}

bool url_parse(const char *text, struct arena *run, struct url *ret_url, struct err *err)
{
	struct url url = { .text = text };
	struct str rest = str_of(text);
	if (!check_text(text, err) || !parse_scheme(&url, &rest, err))
		return false;
	struct str fragment;
	rest = str_cut(rest, '#', &fragment);
	size_t n = 0;
	while (n < rest.len && rest.s[n] != '/' && rest.s[n] != '?')
		n++;
	struct str authority = { rest.s, n };
	if (n && memchr(authority.s, '@', n)) {
		/* the text is not quoted: it may hold a password */
		err_set(err, ERR_USAGE, _("there is a user name in the URL"));
		return err_hint(err, _("pass it as a header: -H 'Authorization: ...'"));
	}
	if (!parse_host(&url, authority, run, err))
		return false;
	url.path = make_path((struct str){ rest.s + n, rest.len - n }, run);
	url.authority = make_authority(&url, run);
	*ret_url = url;
	return true;
}
