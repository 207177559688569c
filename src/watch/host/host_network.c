/*
 * The network as a kernel counts it: bytes, errors and drops of each interface, TCP's repeats and
 * refusals, sockets. All of it is per network namespace: it is that of the first watched process
 * which has another one than ours.
 *
 * Source: Documentation/networking/snmp_counter.rst and RFC 4022 for the names
 */
#include "watch/sources.h"

#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TEXT_BYTES = 64 * 1024,
	INTERFACES_MAX = 64,
	NAME_BYTES = 16, /* IFNAMSIZ */
	FROM_BYTES = 96,
};

/* The columns of /proc/net/dev behind the name. */
enum {
	RX_BYTES,
	RX_PACKETS,
	RX_ERRORS,
	RX_DROPS,
	RX_FIFO,
	RX_FRAME,
	TX_BYTES = 8,
	TX_PACKETS,
	TX_ERRORS,
	TX_DROPS,
	TX_FIFO,
	TX_COLLISIONS,
	TX_CARRIER,
	TX_COMPRESSED,
	N_COLUMNS
};

enum {
	RX,
	TX,
	ERRORS,
	DROPPED,
	N_DEVICE,
	N_TCP = 6,
	N_EXT = 6,
	N_SOCKETS = 6,
	TCP = N_DEVICE,
	EXT = TCP + N_TCP,
	SOCKETS = EXT + N_EXT,
	NAMESPACE = SOCKETS + N_SOCKETS,
	N_ROWS
};

#define DEVICE(name_, unit_, columns, help_)                                                       \
	{                                                                                          \
		.name = name_, .unit = unit_, .kind = WATCH_RATE,                                  \
		.from = "/proc/net/dev, " columns, .help = help_                                   \
	}
#define TCP_RATE(name_, file, field, help_)                                                        \
	{                                                                                          \
		.name = name_, .unit = "1/s", .kind = WATCH_RATE,                                  \
		.from = "/proc/net/" file ", " field, .help = help_                                \
	}
#define SOCKET(name_, file, field, help_)                                                          \
	{                                                                                          \
		.name = name_, .unit = "1", .kind = WATCH_GAUGE,                                   \
		.from = "/proc/net/" file ", " field, .help = help_                                \
	}

static const struct watch_row rows[N_ROWS] = {
	[RX] = DEVICE("host_net_rx_bytes_per_s", "bytes/s", "receive bytes",
	        N_("bytes that an interface received, headers included")),
	[TX] = DEVICE("host_net_tx_bytes_per_s", "bytes/s", "transmit bytes",
	        N_("bytes that an interface sent, headers included")),
	[ERRORS] = DEVICE("host_net_errors_per_s", "1/s", "errs, receive + transmit",
	        N_("packets that an interface got or sent broken")),
	[DROPPED] = DEVICE("host_net_dropped_per_s", "1/s", "drop, receive + transmit",
	        N_("packets that an interface threw away")),

	[TCP] = TCP_RATE("host_tcp_retransmits_per_s", "snmp", "Tcp RetransSegs",
	        N_("segments that TCP sent again")),
	TCP_RATE("host_tcp_segments_per_s", "snmp", "Tcp OutSegs",
	        N_("segments that TCP sent, without those sent again")),
	TCP_RATE("host_tcp_accepts_per_s", "snmp", "Tcp PassiveOpens",
	        N_("connections that others opened to here")),
	TCP_RATE("host_tcp_connects_per_s", "snmp", "Tcp ActiveOpens",
	        N_("connections that were opened from here")),
	TCP_RATE("host_tcp_resets_per_s", "snmp", "Tcp OutRsts",
	        N_("connections or attempts that were refused or cut off from here")),
	SOCKET("host_tcp_established", "snmp", "Tcp CurrEstab", N_("connections that are open")),

	[EXT] = TCP_RATE("host_tcp_listen_overflows_per_s", "netstat", "TcpExt ListenOverflows",
	        N_("connections refused because a program did not accept fast enough")),
	TCP_RATE("host_tcp_listen_drops_per_s", "netstat", "TcpExt ListenDrops",
	        N_("connections refused on arrival, for any reason")),
	TCP_RATE("host_tcp_backlog_drops_per_s", "netstat", "TcpExt TCPBacklogDrop",
	        N_("segments thrown away because a program held its socket too long")),
	TCP_RATE("host_tcp_timeouts_per_s", "netstat", "TcpExt TCPTimeouts",
	        N_("times that no answer came until the timer ran out")),
	TCP_RATE("host_tcp_syn_retransmits_per_s", "netstat", "TcpExt TCPSynRetrans",
	        N_("openings of connections that were sent again: 1 s and more each")),
	TCP_RATE("host_tcp_memory_pressure_per_s", "netstat", "TcpExt TCPMemoryPressures",
	        N_("times that TCP came near its limit of memory")),

	[SOCKETS] = SOCKET("host_sockets", "sockstat", "sockets used", N_("sockets of all kinds")),
	SOCKET("host_tcp_sockets", "sockstat", "TCP inuse", N_("TCP sockets of IPv4 in use")),
	SOCKET("host_tcp_time_wait", "sockstat", "TCP tw",
	        N_("closed connections whose port is still held")),
	SOCKET("host_tcp_orphans", "sockstat", "TCP orphan",
	        N_("connections that no program has any more, but that have data to send")),
	SOCKET("host_tcp_memory_pages", "sockstat", "TCP mem",
	        N_("pages of memory that hold TCP's data, on the whole machine")),
	SOCKET("host_tcp6_sockets", "sockstat6", "TCP6 inuse", N_("TCP sockets of IPv6 in use")),
	[NAMESPACE] = { .name = "host_net_namespace",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/PID/ns/net",
	        .help = N_("whose network is counted, by its number in the kernel") },
};

static const struct keyed_name tcp_names[N_TCP] = {
	{ "RetransSegs", false },
	{ "OutSegs", false },
	{ "PassiveOpens", false },
	{ "ActiveOpens", false },
	{ "OutRsts", false },
	{ "CurrEstab", false },
};

static const struct keyed_name ext_names[N_EXT] = {
	{ "ListenOverflows", false },
	{ "ListenDrops", false },
	{ "TCPBacklogDrop", false },
	{ "TCPTimeouts", false },
	{ "TCPSynRetrans", false },
	{ "TCPMemoryPressures", false },
};

static const struct keyed_name socket_names[N_SOCKETS] = {
	{ "sockets: used", false },
	{ "TCP: inuse", false },
	{ "TCP: tw", false },
	{ "TCP: orphan", false },
	{ "TCP: mem", false },
	{ "TCP6: inuse", false },
};

enum { FILE_DEV, FILE_SNMP, FILE_NETSTAT, FILE_SOCKSTAT, FILE_SOCKSTAT6, N_FILES };
static const char *const file_names[N_FILES] = {
	[FILE_DEV] = "dev",
	[FILE_SNMP] = "snmp",
	[FILE_NETSTAT] = "netstat",
	[FILE_SOCKSTAT] = "sockstat",
	[FILE_SOCKSTAT6] = "sockstat6",
};

struct interface {
	char name[NAME_BYTES];
	struct channel *channels[N_DEVICE];
};

struct host_network {
	struct board *board;
	struct procfile files[N_FILES];
	int codes[N_FILES];              /* why a file is not open */
	char paths[N_FILES][FROM_BYTES]; /* "/proc/123/net/snmp" */
	char owner[32];                  /* "123": whose network it is; empty: ours */
	struct interface interfaces[INTERFACES_MAX];
	size_t n_interfaces;
	struct keyed tcp, ext, sockets;
	char text[TEXT_BYTES];
};

/* ---- interfaces ---- */

static struct interface *interface_of(struct host_network *self, struct str name)
{
	for (size_t i = 0; i < self->n_interfaces; i++)
		if (str_eq(name, str_of(self->interfaces[i].name)))
			return &self->interfaces[i];
	if (self->n_interfaces == INTERFACES_MAX || name.len == 0 || name.len >= NAME_BYTES ||
	        memchr(name.s, '\0', name.len))
		return NULL;
	struct interface *new = &self->interfaces[self->n_interfaces++];
	memcpy(new->name, name.s, name.len);
	for (size_t i = 0; i < N_DEVICE; i++) {
		new->channels[i] = board_channel(self->board, &rows[i], new->name);
		if (self->owner[0])
			channel_from(new->channels[i], self->paths[FILE_DEV]);
	}
	return new;
}

/* "  eth0: 290255519   11165 ...", in old kernels without a blank behind the colon. */
static void take_interface(struct host_network *self, struct str line)
{
	uint64_t columns[N_COLUMNS];
	struct str name = str_trim(str_cut(line, ':', &line));
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (!procfile_u64(procfile_word(&line), &columns[i]))
			return;
	struct interface *to = interface_of(self, name);
	if (!to)
		return;
	channel_total(to->channels[RX], columns[RX_BYTES]);
	channel_total(to->channels[TX], columns[TX_BYTES]);
	channel_total(to->channels[ERRORS], columns[RX_ERRORS] + columns[TX_ERRORS]);
	channel_total(to->channels[DROPPED], columns[RX_DROPS] + columns[TX_DROPS]);
}

/* ---- files ---- */

/* The text of a file; false: code says why there is none. */
static bool read_file(struct host_network *self, size_t file, struct str *ret_text, int *ret_code)
{
	*ret_code = self->codes[file];
	if (*ret_code != 0)
		return false;
	if (procfile_read(&self->files[file], self->text, sizeof(self->text), ret_text))
		return true;
	*ret_code = errno;
	return false;
}

static void take_devices(struct host_network *self)
{
	struct str text;
	int code;
	if (!read_file(self, FILE_DEV, &text, &code)) {
		for (size_t i = 0; i < N_DEVICE; i++)
			channel_unreadable(board_channel(self->board, &rows[i], NULL),
			        self->paths[FILE_DEV], code);
		return;
	}
	procfile_line(&text); /* two lines of heads */
	procfile_line(&text);
	while (text.len && memchr(text.s, '\n', text.len))
		take_interface(self, procfile_line(&text));
}

static void take_table(
        struct host_network *self, size_t file, const char *head, struct keyed *keyed)
{
	struct str text;
	int code;
	if (!read_file(self, file, &text, &code)) {
		keyed_unreadable(keyed, self->paths[file], code);
		return;
	}
	keyed_clear(keyed);
	keyed_columns(keyed, text, head);
	keyed_write(keyed, self->paths[file]);
}

static void take_sockets(struct host_network *self)
{
	struct str text;
	int code, code6;
	keyed_clear(&self->sockets);
	if (read_file(self, FILE_SOCKSTAT, &text, &code))
		keyed_pairs(&self->sockets, text);
	if (read_file(self, FILE_SOCKSTAT6, &text, &code6))
		keyed_pairs(&self->sockets, text);
	keyed_write(&self->sockets, self->paths[FILE_SOCKSTAT]);
}

static void host_network_sample(void *self_, int64_t now_ns)
{
	struct host_network *self = self_;
	(void)now_ns;
	take_devices(self);
	take_table(self, FILE_SNMP, "Tcp:", &self->tcp);
	take_table(self, FILE_NETSTAT, "TcpExt:", &self->ext);
	take_sockets(self);
}

/* ---- whose network it is ---- */

/* "net:[4026531840]" of a process, "self" or its number; empty when nobody tells. */
static struct str namespace_of(const char *root, const char *process, char *memory, size_t size)
{
	char path[PROCFILE_PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/%s/ns/net", root, process);
	ssize_t len = readlink(path, memory, size);
	return (struct str){ memory, len > 0 ? (size_t)len : 0 };
}

/* Finds the first process with a network of its own, and says what was found. */
static void find_owner(
        struct host_network *self, const struct watch_config *config, struct channel *said)
{
	char our_memory[64], memory[64], process[32], words[BOARD_TEXT_BYTES];
	struct str ours = namespace_of(config->root, "self", our_memory, sizeof(our_memory));
	size_t n_unknown = 0;
	for (size_t i = 0; i < config->n_pids && !self->owner[0]; i++) {
		snprintf(process, sizeof(process), "%d", config->pids[i]);
		struct str its = namespace_of(config->root, process, memory, sizeof(memory));
		n_unknown += its.len == 0 || ours.len == 0;
		if (its.len == 0 || ours.len == 0 || str_eq(its, ours))
			continue;
		memcpy(self->owner, process, sizeof(self->owner));
		snprintf(words, sizeof(words), _("%.*s, of process %s"), STR_ARG(its), process);
		channel_text(said, str_of(words));
	}
	if (self->owner[0])
		return;
	snprintf(words, sizeof(words), _("%.*s, of this process"), STR_ARG(ours));
	if (ours.len && n_unknown == 0)
		channel_text(said, str_of(words));
	else
		channel_absent(said, SIGNAL_NOT_SUPPORTED,
		        _("the network namespaces may not be compared; ours is counted"));
}

static void open_files(struct host_network *self, const char *root)
{
	const char *process = self->owner[0] ? self->owner : "";
	for (size_t i = 0; i < N_FILES; i++) {
		snprintf(self->paths[i], FROM_BYTES, "/proc/%s%snet/%s", process,
		        *process ? "/" : "", file_names[i]);
		if (!procfile_open(&self->files[i], root, "%s", self->paths[i]))
			self->codes[i] = errno;
	}
}

/* Of another network, say so for each signal. */
static void name_files(struct host_network *self)
{
	static const size_t socket_files[N_SOCKETS] = { [N_SOCKETS - 1] = FILE_SOCKSTAT6 };
	for (size_t i = 0; i < N_TCP; i++)
		channel_from(self->tcp.channels[i], self->paths[FILE_SNMP]);
	for (size_t i = 0; i < N_EXT; i++)
		channel_from(self->ext.channels[i], self->paths[FILE_NETSTAT]);
	for (size_t i = 0; i < N_SOCKETS; i++)
		channel_from(self->sockets.channels[i],
		        self->paths[socket_files[i] ? socket_files[i] : FILE_SOCKSTAT]);
}

static bool host_network_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct host_network *self = arena_new(run, struct host_network);
	(void)err;
	self->board = board;
	find_owner(self, config, board_channel(board, &rows[NAMESPACE], NULL));
	open_files(self, config->root);
	keyed_init(&self->tcp, &rows[TCP], tcp_names, N_TCP, board, NULL, run);
	keyed_init(&self->ext, &rows[EXT], ext_names, N_EXT, board, NULL, run);
	keyed_init(&self->sockets, &rows[SOCKETS], socket_names, N_SOCKETS, board, NULL, run);
	if (self->owner[0])
		name_files(self);
	*ret_self = self;
	return true;
}

static void host_network_close(void *self_)
{
	struct host_network *self = self_;
	for (size_t i = 0; i < N_FILES; i++)
		procfile_close(&self->files[i]);
}

const struct watch_source host_network_source = {
	.name = "host_network",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = host_network_open,
	.sample = host_network_sample,
	.close = host_network_close,
};
