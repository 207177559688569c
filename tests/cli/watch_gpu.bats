#!/usr/bin/env bats
# venturi watch where there are devices: the libraries are stand-ins of the build (tests/standins).

load helpers

setup() {
	make_temp
	R="$TEMP/r.json"
	S="$VENTURI_BUILD/tests/standins"
	[ -e "$S/libstandin_nvml.so" ] || skip "the build has no stand-ins"
	export VENTURI_NVML=none VENTURI_AMDSMI=none VENTURI_ROCMSMI=none
}

teardown() {
	remove_temp
}

# signal NAME INSTANCE KEY: of the JSON; an instance of "-" is none.
signal() {
	jq -r --arg name "$1" --arg at "$2" --arg key "$3" '.signals[] | select(.name == $name and
		(.instance // "-") == $at) | .[$key]' "$R"
}

@test "eight devices of NVIDIA's are signals of eight instances" {
	VENTURI_NVML="$S/libstandin_nvml.so" timeout 60 venturi watch --json "$R" -d 1s --interval 100ms
	[ "$(jq '[.signals[] | select(.name == "gpu_util_ratio")] | length' "$R")" = 8 ]
	[ "$(signal gpu_util_ratio 3 mean)" = 0.35 ]
	[ "$(signal gpu_util_ratio 3 source)" = nvmlDeviceGetUtilizationRates ]
	[ "$(signal gpu_sm_clock_max_mhz 7 mean)" = 1980 ]
	[ "$(signal gpu_driver nvml text)" = "driver 999.88.77, CUDA 12.4" ]
	[ "$(signal gpu_driver amd state)" = not_supported ]
}

@test "what a smaller card has not is said, and is no number" {
	VENTURI_NVML="$S/libstandin_nvml.so" VENTURI_STANDIN_NVML=consumer \
		timeout 60 venturi watch --json "$R" -d 1s --interval 100ms
	[ "$(signal gpu_ecc_corrected_per_s 0 state)" = not_supported ]
	[[ "$(signal gpu_ecc_corrected_per_s 0 reason)" = *"nvmlDeviceGetTotalEccErrors says: Not Supported"* ]]
	[ "$(signal gpu_ecc_corrected_per_s 0 mean)" = null ]
	[ "$(signal gpu_power_w 0 mean)" = 300 ]
}

@test "a machine without devices says for every signal what is missing" {
	timeout 60 venturi watch --json "$R" -d 300ms --interval 100ms
	[ "$(signal gpu_util_ratio - state)" = not_supported ]
	[[ "$(signal gpu_util_ratio - reason)" = *"no NVIDIA driver library"*"no AMD driver library"* ]]
}
