#!/usr/bin/env bats
# The layers of the sources hold: see docs/architecture.md.

load helpers

# What each folder under src may include, besides itself.
declare -gA may=(
	[base]=""
	[text]="base"
	[stats]="base"
	[net]="base"
	[token]="base"
	[record]="base text stats net"
	[load]="base text stats net token record"
	[watch]="base text stats net record"
	[trace]="base text stats net record"
	[plan]="base text stats net record"
	[ledger]="base text stats net record"
	[report]="base text stats net record"
	[diagnose]="base text stats net record load watch trace plan ledger report"
	[cmd]="base text stats net record load watch trace plan ledger report diagnose"
	[engine]="base text stats net token"
	[serve]="base text stats net token engine"
)

@test "every folder of the sources has its place among the layers" {
	for folder in src/*/; do
		folder=$(basename "$folder")
		[ "${may[$folder]+known}" ] || {
			echo "src/$folder has no row here"
			return 1
		}
	done
}

@test "includes point down the layers only" {
	wrong=0
	while IFS=: read -r file include; do
		from=${file#src/}
		from=${from%%/*}
		to=${include#*\"}
		to=${to%%/*}
		if [ "$from" != "$to" ] && [[ " ${may[$from]} " != *" $to "* ]]; then
			echo "$file includes $to/"
			wrong=1
		fi
	done < <(grep -ro --include='*.[ch]' '^#include "[^"]*"' src)
	[ $wrong -eq 0 ]
}

# _exit is allowed: it ends a child that the code itself forked.
@test "only the commands and the service's main print and exit" {
	mapfile -t files < <(find src -name '*.[ch]' ! -path 'src/cmd/*' ! -path src/serve/main.c \
		! -path src/base/arena.c)
	found=$(perl -0777 -ne '
		s{/\*.*?\*/}{$& =~ tr/\n//cdr}gse;   # comments and strings only speak of it
		s{"(?:[^"\\\n]|\\.)*"}{""}g;
		my $n = 0;
		for (split /\n/) {
			$n++;
			print "$ARGV:$n: $_\n" if
				/\b(?:v?printf|puts|putchar|perror|exit|abort)\s*\(/ or
				/\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b/;
		}' "${files[@]}")
	echo "$found"
	[ -z "$found" ]
}
