/*
 * place.h - the folders that a ledger's file stands in. ledger_find is declared in ledger.h.
 */
#ifndef VENTURI_LEDGER_PLACE_H
#define VENTURI_LEDGER_PLACE_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>

/*
 * Makes the folders above a new file that are missing, and sees that the last one takes files.
 * ERR_SYSTEM names the folder that does not serve.
 */
bool place_prepare(const char *path, struct err *err) NODISCARD;

#endif
