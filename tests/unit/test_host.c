#include "tree_sampler.h"

#include "watch/sources.h"

/*
 * What a server does in 2 s, 200 ticks for each core:
 *	cpu0  150 user, 40 system, 10 idle
 *	cpu1  20 user, 20 nice, 20 system, 100 idle, 20 iowait, 10 softirq, 10 steal
 *	cpu2  200 idle
 *	cpu3  100 idle, 100 steal
 */
static const char stat_after[] = "cpu  4170 420 1260 40410 820 40 170 190 0 0\n"
                                 "cpu0 1150 100 340 10010 200 10 40 20 0 0\n"
                                 "cpu1 1020 120 320 10100 220 10 50 30 0 0\n"
                                 "cpu2 1000 100 300 10200 200 10 40 20 0 0\n"
                                 "cpu3 1000 100 300 10100 200 10 40 120 0 0\n"
                                 "intr 1001000 0 9 0\n"
                                 "ctxt 5004000\n"
                                 "processes 70006\n"
                                 "procs_running 5\n"
                                 "procs_blocked 3\n";

static void cores_and_their_sum_are_shares_of_their_ticks(void)
{
	static const struct tree_want wants[] = {
		{ "host_core_ratio", "cpu0", 190 / 200.0 },
		{ "host_core_user_ratio", "cpu0", 150 / 200.0 },
		{ "host_core_kernel_ratio", "cpu0", 40 / 200.0 },
		{ "host_core_idle_ratio", "cpu0", 10 / 200.0 },
		{ "host_core_ratio", "cpu1", 80 / 200.0 },
		{ "host_core_user_ratio", "cpu1", 40 / 200.0 },
		{ "host_core_kernel_ratio", "cpu1", 30 / 200.0 },
		{ "host_core_idle_ratio", "cpu1", 100 / 200.0 },
		{ "host_core_ratio", "cpu2", 0 },
		{ "host_core_ratio", "cpu3", 100 / 200.0 },
		{ "host_cpu_ratio", NULL, 370 / 800.0 },
		{ "host_user_ratio", NULL, 190 / 800.0 },
		{ "host_system_ratio", NULL, 60 / 800.0 },
		{ "host_irq_ratio", NULL, 10 / 800.0 },
		{ "host_iowait_ratio", NULL, 20 / 800.0 },
		{ "host_steal_ratio", NULL, 110 / 800.0 },
		{ "host_busiest_core_ratio", NULL, 190 / 200.0 },
		{ "host_cores", NULL, 4 },
		{ "host_context_switches_per_s", NULL, 2000 },
		{ "host_interrupts_per_s", NULL, 500 },
		{ "host_forks_per_s", NULL, 3 },
		{ "host_runnable_tasks", NULL, 5 },
		{ "host_blocked_tasks", NULL, 3 },
		{ "host_load1", NULL, 1.5 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_cpu_source, 0);
	tree_step(&t, 10);
	tree_put("proc/stat", stat_after);
	tree_put("proc/loadavg", "1.50 0.80 0.55 3/812 4243\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "host_busiest_core", NULL)->text, "cpu0");
	tree_close(&t);
}

static void a_core_that_goes_is_said_to_be_off_and_may_come_back(void)
{
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_cpu_source, 0);
	tree_step(&t, 10);
	/* cpu1 is gone; the others: cpu0 half user, cpu2 and cpu3 idle; iowait dips by 3 */
	tree_put("proc/stat", "cpu  1 2 3 4 5 6 7 8\n"
	                      "cpu0 1050 100 300 10050 200 10 40 20 0 0\n"
	                      "cpu2 1000 100 300 10103 197 10 40 20 0 0\n"
	                      "cpu3 1000 100 300 10100 200 10 40 20 0 0\n"
	                      "intr 1 0\nctxt 5\nprocesses 7\nprocs_running 1\nprocs_blocked 0\n");
	tree_step(&t, 11);
	const struct signal *s = tree_signal(&t, "host_core_ratio", "cpu1");
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	CHECK(s->reason && strstr(s->reason, "switched off"));
	CHECK_NEAR(tree_signal(&t, "host_cpu_ratio", NULL)->mean, 50 / 303.0, 1e-9);
	CHECK_NEAR(tree_signal(&t, "host_cores", NULL)->last, 3, 0);
	/* Back with a lower count, cpu9 is new, cpu3 was reset: none of them has an interval yet.
	 */
	tree_put("proc/stat", "cpu0 1150 100 300 10050 200 10 40 20 0 0\n"
	                      "cpu1 10 10 10 10 10 10 10 10 0 0\n"
	                      "cpu2 1000 100 300 10203 197 10 40 20 0 0\n"
	                      "cpu3 1 1 1 1 1 1 1 1 0 0\n"
	                      "cpu9 5000 0 0 0 0 0 0 0 0 0\n"
	                      "intr 1 0\nctxt 5\nprocesses 7\nprocs_running 1\nprocs_blocked 0\n");
	tree_step(&t, 12);
	CHECK_NEAR(tree_signal(&t, "host_cores", NULL)->last, 5, 0);
	CHECK_NEAR(tree_signal(&t, "host_cpu_ratio", NULL)->last, 100 / 200.0, 1e-9);
	CHECK_INT(tree_signal(&t, "host_core_ratio", "cpu1")->n, 0);
	CHECK_INT(tree_signal(&t, "host_core_ratio", "cpu9")->n, 0);
	CHECK(strstr(tree_signal(&t, "host_core_ratio", "cpu3")->reason, "anew") != NULL);
	tree_put("proc/stat", "cpu1 20 10 10 40 10 10 10 10 0 0\n"
	                      "cpu9 5000 0 0 100 0 0 0 0 0 0\n"
	                      "intr 1 0\nctxt 5\nprocesses 7\nprocs_running 1\nprocs_blocked 0\n");
	tree_step(&t, 13);
	CHECK_NEAR(tree_signal(&t, "host_core_ratio", "cpu1")->last, 10 / 40.0, 1e-9);
	CHECK_NEAR(tree_signal(&t, "host_core_ratio", "cpu9")->last, 0, 1e-9);
	tree_close(&t);
}

static void a_truncated_stat_makes_no_core_vanish(void)
{
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_cpu_source, 0);
	tree_step(&t, 10);
	/* cut off inside the third core's line: its last number may be a part of one */
	tree_put("proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\n"
	                      "cpu0 1100 100 300 10100 200 10 40 20 0 0\n"
	                      "cpu1 1100 100\n"
	                      "cpu2 1100 100 300 101");
	tree_step(&t, 11);
	CHECK_NEAR(tree_signal(&t, "host_cores", NULL)->last, 4, 0);
	CHECK_NEAR(tree_signal(&t, "host_core_ratio", "cpu0")->last, 0.5, 1e-9);
	CHECK(!strstr(tree_signal(&t, "host_core_ratio", "cpu2")->reason, "off"));
	tree_put("proc/stat", stat_after);
	tree_step(&t, 12);
	CHECK_NEAR(tree_signal(&t, "host_core_ratio", "cpu2")->last, 0, 1e-9);
	CHECK_NEAR(tree_signal(&t, "host_core_ratio", "cpu3")->last, 0.5, 1e-9);
	tree_put("proc/stat", "%s", "");
	tree_step(&t, 13);
	tree_put(
	        "proc/stat", "cpu0 99999999999999999999 1 1 1 1 1 1 1\ncpu77777 1 1 1 1 1 1 1 1\n");
	tree_step(&t, 14);
	CHECK_NEAR(tree_signal(&t, "host_cores", NULL)->last, 4, 0);
	tree_close(&t);
}

static void hundreds_of_cores_are_read_and_the_one_busy_core_is_named(void)
{
	enum { CORES = 448 };
	struct tree t;
	struct buf text = { 0 };
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_cpu_source, 0);
	for (int k = 0; k < 2; k++) {
		buf_clear(&text);
		for (int i = 0; i < CORES; i++) {
			bool is_busy = i == 333;
			buf_printf(&text, "cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i,
			        k && is_busy ? 1100 : 1000, k && !is_busy ? 9100 : 9000);
		}
		buf_printf(&text, "intr 9");
		for (int i = 0; i < 20000; i++)
			buf_add_c(&text, " 0");
		buf_add_c(&text, "\nctxt 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n");
		tree_put("proc/stat", "%s", text.s);
		tree_step(&t, 10 + k);
	}
	CHECK_NEAR(tree_signal(&t, "host_cores", NULL)->last, CORES, 0);
	CHECK_NEAR(tree_signal(&t, "host_cpu_ratio", NULL)->mean, 1.0 / CORES, 1e-12);
	CHECK_NEAR(tree_signal(&t, "host_busiest_core_ratio", NULL)->mean, 1, 1e-12);
	CHECK_STR(tree_signal(&t, "host_busiest_core", NULL)->text, "cpu333");
	CHECK_NEAR(tree_signal(&t, "host_runnable_tasks", NULL)->last, 1, 0);
	buf_release(&text);
	tree_close(&t);
}

static void pressure_is_the_growth_of_the_totals(void)
{
	static const struct tree_want wants[] = {
		{ "host_psi_cpu_some_ratio", NULL, 0.25 },
		{ "host_psi_memory_some_ratio", NULL, 0.1 },
		{ "host_psi_memory_full_ratio", NULL, 0.05 },
		{ "host_psi_io_some_ratio", NULL, 0 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_psi_source, 0);
	tree_step(&t, 10);
	tree_put("proc/pressure/cpu", "some avg10=9.99 avg60=0.00 avg300=0.00 total=1500000\n"
	                              "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	tree_put("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1200000\n"
	                                 "full avg10=0.00 avg60=0.00 avg300=0.00 total=600000\n");
	tree_put("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
	                             "full avg10=0.00 avg60=0.00 avg300=0.00 tot");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	tree_expect_absent(&t, "host_psi_io_full_ratio", NULL, SIGNAL_NOT_SUPPORTED, "no total");
	tree_close(&t);

	tree_open(&t, "server-2s");
	tree_drop("proc/pressure");
	tree_watch(&t, &host_psi_source, 0);
	tree_step(&t, 10);
	tree_expect_absent(&t, "host_psi_cpu_some_ratio", NULL, SIGNAL_NOT_SUPPORTED, "psi=1");
	tree_close(&t);
}

static void memory_is_told_in_bytes_and_what_was_done_for_it_as_rates(void)
{
	static const struct tree_want wants[] = {
		{ "host_memory_bytes", NULL, 527952500 * 1024.0 },
		{ "host_memory_available_bytes", NULL, 1000 * 1024.0 },
		{ "host_dirty_bytes", NULL, 5 * 1024.0 },
		{ "host_hugepages_free", NULL, 3 },
		{ "host_refault_pages_per_s", NULL, (50 + 250) / 2.0 },
		{ "host_swap_in_pages_per_s", NULL, 5 },
		{ "host_direct_reclaims_per_s", NULL, 3 },
		{ "host_major_faults_per_s", NULL, 100 },
		{ "host_thp_fallback_per_s", NULL, 2 },
		{ "host_thp_split_per_s", NULL, 0.5 },
		{ "host_oom_kills_per_s", NULL, 0.5 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_memory_source, 0);
	tree_step(&t, 10);
	tree_put("proc/meminfo",
	        "MemTotal:       527952500 kB\nMemAvailable:   1000 kB\nDirty: 5 kB\n"
	        "HugePages_Free:        3\nSwapTotal: 12");
	tree_put("proc/vmstat",
	        "workingset_refault_anon 150\nworkingset_refault_file 1250\npswpin 60\npswpout 60\n"
	        "allocstall_dma 1\nallocstall_dma32 1\nallocstall_normal 4\nallocstall_movable 6\n"
	        "pgfault 1000001\npgmajfault 2200\npgscan_kswapd 700\noom_kill 2\n"
	        "compact_stall 10\nthp_fault_alloc 1000\nthp_fault_fallback 24\n"
	        "thp_fault_fallback_charge 5\nthp_split_page 41\nthp_split_page_failed 9\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	const struct signal *s = tree_signal(&t, "host_thp_collapse_per_s", NULL);
	CHECK(s->reason && strstr(s->reason, "thp_collapse_alloc"));
	CHECK_STR(tree_signal(&t, "host_thp_mode", NULL)->text, "madvise");
	s = tree_signal(&t, "host_swap_bytes", NULL);
	CHECK(isnan(s->last) && s->reason && strstr(s->reason, "SwapTotal"));
	tree_put("proc/meminfo", "SwapTotal: 0 kB\nSwapFree: 0 kB\n");
	tree_step(&t, 14);
	CHECK_NEAR(tree_signal(&t, "host_swap_bytes", NULL)->last, 0, 0);
	s = tree_signal(&t, "host_swap_free_bytes", NULL);
	CHECK(isnan(s->last) && s->reason && strstr(s->reason, "no swap"));
	tree_close(&t);
	/* It never had a value, not even for a moment. */
	tree_open(&t, "server-2s");
	tree_put("proc/meminfo", "SwapTotal: 0 kB\nSwapFree: 0 kB\n");
	tree_watch(&t, &host_memory_source, 0);
	tree_step(&t, 10);
	s = tree_signal(&t, "host_swap_free_bytes", NULL);
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	CHECK_STR(s->reason, "this machine has no swap");
	tree_close(&t);
}

static void disks_are_whole_devices_and_their_times_wrap(void)
{
	/* 2^32 ms wrap: busy from 4294967000 to 704 is 1000 ms, writing the same */
	static const struct tree_want wants[] = {
		{ "host_disk_read_bytes_per_s", "nvme0n1", 512 * 1000.0 },
		{ "host_disk_write_bytes_per_s", "nvme0n1", 512 * 2000.0 },
		{ "host_disk_ops_per_s", "nvme0n1", 200 },
		{ "host_disk_wait_ms", "nvme0n1", (1000 + 200) / 400.0 },
		{ "host_disk_busy_ratio", "nvme0n1", 0.5 },
		{ "host_disk_in_flight", "nvme0n1", 7 },
		{ "host_disk_busy_ratio", "dm-0", 0 },
		{ "host_disk_in_flight", "dm-0", 3 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_disk_source, 0);
	tree_step(&t, 10);
	tree_put("proc/diskstats",
	        "   7       0 loop0 20 0 20 1 0 0 0 0 0 1 1\n"
	        " 259       0 nvme0n1 1100 0 82000 700 2300 0 164000 704 7 704 4000 0 0 0 0 0 0\n"
	        " 259       1 nvme0n1p1 1000 0 80000 400 1900 0 150000 1800 0 2900 3900 0 0 0 0\n"
	        " 253       0 dm-0 500 0 40000 200 1000 0 80000 900 3 1500 2000\n"
	        " 253       2 dm-2 1 0 4");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	for (size_t i = 0; i < t.got.n_signals; i++) {
		const char *instance = t.got.signals[i].instance;
		CHECK(!instance || !strcmp(instance, "nvme0n1") || !strcmp(instance, "dm-0"));
	}
	tree_expect_absent(&t, "host_disk_wait_ms", "dm-0", SIGNAL_NOT_COUNTED, "share");
	tree_close(&t);

	tree_open(&t, "server-2s");
	tree_put("proc/diskstats", "%s", "");
	tree_watch(&t, &host_disk_source, 0);
	tree_step(&t, 10);
	tree_expect_absent(&t, "host_disk_read_bytes_per_s", NULL, SIGNAL_NOT_SUPPORTED, "no disk");
	tree_close(&t);
}

static const char dev_after[] = "Inter-|   Receive\n face |bytes\n"
                                "    lo: 1004000 1000 0 0 0 0 0 0 1004000 1000 0 0 0 0 0 0\n"
                                "  eth0:5200000 4000 4 9 0 0 0 0 6400000 5000 3 3 0 0 0 0\n";
static const char snmp_after[] =
        "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails "
        "EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
        "Tcp: 1 200 120000 -1 502 1000 10 20 35 100000 202000 60 0 60 0\n";
static const char netstat_after[] =
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPBacklogDrop "
        "TCPMemoryPressures TCPSynRetrans\n"
        "TcpExt: 0 21 33 17 19 0 24\n";

static void the_network_is_counted_by_interface_and_by_tcp(void)
{
	static const struct tree_want wants[] = {
		{ "host_net_rx_bytes_per_s", "lo", 2000 },
		{ "host_net_tx_bytes_per_s", "lo", 2000 },
		{ "host_net_rx_bytes_per_s", "eth0", 100000 },
		{ "host_net_tx_bytes_per_s", "eth0", 200000 },
		{ "host_net_errors_per_s", "eth0", 2 },
		{ "host_net_dropped_per_s", "eth0", 1 },
		{ "host_tcp_retransmits_per_s", NULL, 10 },
		{ "host_tcp_segments_per_s", NULL, 1000 },
		{ "host_tcp_accepts_per_s", NULL, 50 },
		{ "host_tcp_connects_per_s", NULL, 1 },
		{ "host_tcp_established", NULL, 35 },
		{ "host_tcp_listen_overflows_per_s", NULL, 5 },
		{ "host_tcp_listen_drops_per_s", NULL, 10 },
		{ "host_tcp_syn_retransmits_per_s", NULL, 0.5 },
		{ "host_tcp_time_wait", NULL, 77 },
		{ "host_tcp_orphans", NULL, 2 },
		{ "host_sockets", NULL, 316 },
		{ "host_tcp6_sockets", NULL, 6 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_network_source, 0);
	tree_step(&t, 10);
	tree_put("proc/net/dev", dev_after);
	tree_put("proc/net/snmp", snmp_after);
	tree_put("proc/net/netstat", netstat_after);
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "host_net_namespace", NULL)->text,
	        "net:[4026531840], of this process");
	/* a counter that went back and a table whose second line was cut off */
	tree_put("proc/net/dev", "a\nb\n  eth0: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
	tree_put("proc/net/snmp", "Tcp: RetransSegs OutSegs\nTcp: 5");
	tree_step(&t, 13);
	CHECK(strstr(tree_signal(&t, "host_net_rx_bytes_per_s", "eth0")->reason, "anew"));
	CHECK(strstr(tree_signal(&t, "host_tcp_segments_per_s", NULL)->reason, "OutSegs"));
	tree_close(&t);
}

static void a_process_with_a_network_of_its_own_has_that_one_counted(void)
{
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_network_source, 4242);
	tree_step(&t, 10);
	tree_put("proc/4242/net/dev", dev_after);
	tree_put("proc/4242/net/snmp", snmp_after);
	tree_step(&t, 12);
	const struct signal *s = tree_signal(&t, "host_net_rx_bytes_per_s", "eth0");
	CHECK_NEAR(s->mean, 100000, 1e-6);
	CHECK_STR(s->source, "/proc/4242/net/dev");
	s = tree_signal(&t, "host_tcp_retransmits_per_s", NULL);
	CHECK_NEAR(s->mean, 10, 1e-9);
	CHECK_STR(s->source, "/proc/4242/net/snmp");
	CHECK_STR(tree_signal(&t, "host_tcp6_sockets", NULL)->source, "/proc/4242/net/sockstat6");
	CHECK_STR(tree_signal(&t, "host_net_namespace", NULL)->text,
	        "net:[4026532999], of process 4242");
	tree_close(&t);
}

static void one_core_that_does_all_the_network_s_work_is_seen(void)
{
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_softirq_source, 0);
	tree_step(&t, 10);
	/* 60, 900, 0 and 40 of 1000; TIMER's line is short of a core */
	tree_put("proc/softirqs", "          CPU0       CPU1       CPU2       CPU3\n"
	                          "       TIMER:      10000      10000      10000\n"
	                          "      NET_RX:       1060       1900       1000       1040\n"
	                          "         RCU:       7001       7001       7001       7001\n");
	tree_step(&t, 12);
	CHECK_NEAR(tree_signal(&t, "host_net_rx_busiest_core_ratio", NULL)->mean, 0.9, 1e-12);
	CHECK_NEAR(tree_signal(&t, "host_softirqs_per_s", "NET_RX")->mean, 500, 1e-9);
	CHECK_NEAR(tree_signal(&t, "host_softirqs_per_s", "RCU")->mean, 2, 1e-9);
	CHECK_INT(tree_signal(&t, "host_softirqs_per_s", "TIMER")->n, 0);
	/* CPU1 is off: the columns move up */
	tree_put("proc/softirqs", "          CPU0       CPU2       CPU3\n"
	                          "      NET_RX:       1160       1300       1140\n");
	tree_step(&t, 14);
	CHECK_NEAR(tree_signal(&t, "host_net_rx_busiest_core_ratio", NULL)->last, 0.6, 1e-12);
	tree_put("proc/softirqs", "CPUx CPU99999999999999999999\nNET_RX: 1 2\n");
	tree_step(&t, 16);
	tree_close(&t);
}

static void clocks_are_read_where_there_are_some(void)
{
	static const struct tree_want wants[] = {
		{ "host_clock_mhz", NULL, 2150 },
		{ "host_clock_fastest_mhz", NULL, 2300 },
		{ "host_clock_max_mhz", NULL, 3500 },
		{ "host_clock_base_mhz", NULL, 2100 },
		{ "host_clock_limit_mhz", NULL, 1800 },
		{ "host_core_throttles_per_s", NULL, 2.5 },
		{ "host_package_throttles_per_s", NULL, 1 },
	};
	struct tree t;
	tree_open(&t, "server-2s");
	tree_watch(&t, &host_clock_source, 0);
	tree_step(&t, 10);
	tree_put("sys/devices/system/cpu/cpu2/cpufreq/scaling_max_freq", "1800000\n");
	tree_put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n");
	tree_put("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n");
	/* package 0: both cores tell 12 */
	tree_put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "12\n");
	tree_put("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "12\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "host_governor", NULL)->text, "mixed");
	tree_close(&t);
}

static void a_virtual_machine_has_no_clock_and_an_old_one_a_guess(void)
{
	struct tree t;
	tree_open(&t, NULL);
	tree_put("sys/devices/system/cpu/online", "0-1\n");
	tree_put("proc/cpuinfo", "cpu MHz\t\t: 2100.000\nflags\t\t: fpu hypervisor lahf_lm\n");
	tree_watch(&t, &host_clock_source, 0);
	tree_step(&t, 10);
	tree_expect_absent(&t, "host_clock_mhz", NULL, SIGNAL_NOT_SUPPORTED, "virtual machine");
	tree_expect_absent(
	        &t, "host_core_throttles_per_s", NULL, SIGNAL_NOT_SUPPORTED, "thermal_throttle");
	tree_close(&t);

	tree_open(&t, NULL);
	tree_put("sys/devices/system/cpu/online", "0-1\n");
	tree_put("proc/cpuinfo", "cpu MHz\t\t: 2100.000\nflags\t\t: fpu lahf_lm\n"
	                         "cpu MHz\t\t: 2500.000\ncpu MHz\t\t: nan\ncpu MHz : 1");
	tree_watch(&t, &host_clock_source, 0);
	tree_step(&t, 10);
	tree_step(&t, 12);
	const struct signal *s = tree_signal(&t, "host_clock_mhz", NULL);
	CHECK_INT(s->state, SIGNAL_ESTIMATED);
	CHECK_NEAR(s->mean, 2300, 1e-9);
	CHECK(s->reason && strstr(s->reason, "cpuinfo"));
	CHECK_STR(s->source, "/proc/cpuinfo, cpu MHz");
	CHECK_NEAR(tree_signal(&t, "host_clock_fastest_mhz", NULL)->mean, 2500, 1e-9);
	tree_expect_absent(&t, "host_clock_max_mhz", NULL, SIGNAL_NOT_SUPPORTED, "cpufreq");
	tree_close(&t);
}

static void an_empty_machine_says_of_every_signal_why_it_is_not_there(void)
{
	static const struct watch_source *const sources[] = { &host_cpu_source, &host_psi_source,
		&host_memory_source, &host_disk_source, &host_network_source, &host_softirq_source,
		&host_clock_source };
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		struct tree t;
		tree_open(&t, NULL);
		tree_watch(&t, sources[i], 0);
		tree_step(&t, 10);
		tree_step(&t, 12);
		size_t n_told = 0;
		for (size_t k = 0; k < t.got.n_signals; k++) {
			const struct signal *s = &t.got.signals[k];
			if (strncmp(s->name, "watch_", 6) == 0)
				continue;
			n_told++;
			if (!CHECK(s->n == 0 && s->reason && s->state == SIGNAL_NOT_SUPPORTED))
				printf("#   %s\n", s->name);
		}
		CHECK(n_told > 0);
		tree_close(&t);
	}
}

int main(void)
{
	TAP_RUN(cores_and_their_sum_are_shares_of_their_ticks);
	TAP_RUN(a_core_that_goes_is_said_to_be_off_and_may_come_back);
	TAP_RUN(a_truncated_stat_makes_no_core_vanish);
	TAP_RUN(hundreds_of_cores_are_read_and_the_one_busy_core_is_named);
	TAP_RUN(pressure_is_the_growth_of_the_totals);
	TAP_RUN(memory_is_told_in_bytes_and_what_was_done_for_it_as_rates);
	TAP_RUN(disks_are_whole_devices_and_their_times_wrap);
	TAP_RUN(the_network_is_counted_by_interface_and_by_tcp);
	TAP_RUN(a_process_with_a_network_of_its_own_has_that_one_counted);
	TAP_RUN(one_core_that_does_all_the_network_s_work_is_seen);
	TAP_RUN(clocks_are_read_where_there_are_some);
	TAP_RUN(a_virtual_machine_has_no_clock_and_an_old_one_a_guess);
	TAP_RUN(an_empty_machine_says_of_every_signal_why_it_is_not_there);
	return tap_done();
}
