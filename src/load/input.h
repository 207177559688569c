/*
 * input.h - reads --input: one JSON object a line, or one JSON list of them, in the forms that data
 * sets have. What the file holds is written out as requests, in its order.
 */
#ifndef VENTURI_LOAD_INPUT_H
#define VENTURI_LOAD_INPUT_H

#include "load/builder.h"
#include "stats/dist.h"

/*
 * Fills the items of a workload from config->input_file.
 *
 * output   lengths of answers, where a line asks for none
 * errors   ERR_INPUT that names file and line
 */
bool input_build(struct builder *b, const struct dist *output, struct workload *w,
        struct err *err) NODISCARD;

#endif
