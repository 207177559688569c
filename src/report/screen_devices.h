/*
 * screen_devices.h - the list of devices, of any kind of which there may be several: GPUs, NUMA
 * nodes, disks, interfaces; for screen_pages.c.
 */
#ifndef VENTURI_REPORT_SCREEN_DEVICES_H
#define VENTURI_REPORT_SCREEN_DEVICES_H

#include "report/screen_pages.h"

void screen_devices_make(struct screen_list *l);
void screen_devices_draw(const struct screen_list *l, size_t i, struct screen *s, int row);

/* Are the points of signals of this name drawn? */
bool screen_devices_want(const char *name);

#endif
