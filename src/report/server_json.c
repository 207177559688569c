#include "report/server.h"

#include "report/signal_json.h"
#include "text/json.h"

void report_server_json(struct json *j, const struct signal_server *server)
{
	if (!server)
		return;
	json_key(j, "server");
	json_object_open(j);
	json_put_double_present(j, "ttft_beyond_ms", server->ttft_beyond_ms);
	json_put_string_present(j, "warning", server->warning);
	json_key(j, "pages");
	json_array_open(j);
	for (size_t i = 0; i < server->n_pages; i++)
		signal_json_page(j, &server->pages[i]);
	json_array_close(j);
	json_key(j, "signals");
	json_array_open(j);
	for (size_t i = 0; i < server->n_pages; i++)
		for (size_t k = 0; k < server->pages[i].n_signals; k++)
			signal_json(j, &server->pages[i].signals[k], true);
	json_array_close(j);
	json_object_close(j);
}
