/*
 * wire.h - how an answer travels: the manners, good and bad, of the service's HTTP side.
 *
 * The defaults are those of a good service. The others exist so that load generators and doctors
 * can be tested against services that behave worse.
 */
#ifndef VENTURI_SERVE_WIRE_H
#define VENTURI_SERVE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct wire {
	int64_t tokens_per_event; /* tokens gathered into one event; at least 1 */
	bool crlf;                /* lines of a stream end in CR LF */
	int64_t buffer_bytes;     /* a stream is held back until so many bytes are together */
	bool role_first;          /* a chat stream begins with a chunk that bears only the role */
	int64_t reasoning_tokens; /* so many tokens of a chat come as reasoning_content */
	bool nagle;               /* header and body in two writes, Nagle's algorithm left on */
	bool close;               /* the connection ends after each answer */
	int64_t connections_max;  /* more wait unaccepted; 0: no limit of its own */
};

#define WIRE_DEFAULT ((struct wire){ .tokens_per_event = 1, .role_first = true })

#endif
