# What an analyst sees beside the answers of his queries, for neighbours.pl: the
# statistics views, what another connection of his sees meanwhile, libraries, and
# what is left of temporary files.  Rights are not looked at here: on a server that
# dp_harden() has closed he sees less.
package FuzzSight;

use strict;
use warnings;

use AttackNode qw(log_since);
use Exporter 'import';
use IPC::Run ();
use LedgerNode;
use List::Util qw(max);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(make_sight start_watch end_watch temporary_files told_apart watched_alike apart @told);

use constant LONG => 10;		# sightings of a watcher: 20 ms

# What doc/threat_model.md says that differs on a server that is not hardened: a
# relation that an analyst cannot read any more when dp_harden() has run; lines of
# it, "view names column"; where what is asked is such.  What the ledger's worker
# reads of the questions of a session with weights follows how many of them were
# "above", which was released.
our @told = (
	[ 'pg_stat_io', qr/^pg_stat_io /, qr/^/ ],
	map { [ $_, qr/^$_ (?:session_question|\S+ session_question|blks_|tup_|Xact )/, qr/dp_weights_ask/ ] }
	  qw(pg_stat_all_tables pg_stat_all_indexes pg_statio_all_tables pg_statio_all_indexes pg_stat_database pg_stat_slru));

# Lines of what changed: what the threat model tells of such a query, pages that
# were wanted, and the rest.
sub told_apart
{
	my ($asked, $changes) = @_;
	my @such = grep { $asked =~ $_->[2] } @told;
	my (@told_here, @rest);
	my $pages = $changes =~ s/^pg_stat_bgwriter buffers_alloc: (\d+)(?:\n|\z)//m ? $1 : 0;

	foreach my $line (split /\n/, $changes)
	{
		push @{ (grep { $line =~ $_->[1] } @such) ? \@told_here : \@rest }, $line;
	}
	return join("\n", @told_here), $pages, join("\n", @rest);
}

# Statements of the watcher and of other functions here are not among these.
my %others = (
	pg_qualstats => q{SELECT concat_ws(' ', 'condition', userid, queryid, qualid, qualnodeid, lrelid, lattnum, opno, rrelid, rattnum, constvalue, counter), value
		FROM pg_qualstats, LATERAL (VALUES ('times', occurences::numeric), ('rows', execution_count), ('left out', nbfiltered)) AS v (counter, value)
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())},
	pg_stat_statements => q{SELECT concat_ws(' ', 'statement', userid, queryid, toplevel, counter), value
		FROM pg_stat_statements, LATERAL (VALUES ('calls', calls::numeric), ('plans', plans), ('rows', rows), ('pages', shared_blks_hit + shared_blks_read), ('WAL', wal_records)) AS v (counter, value)
		WHERE query ~ 'dp_|private' AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())});

# Every counter that is not 0, a line each, by view, names and column.  Not those
# of single processes, which the watcher sees; nor times; nor what the writer of
# WAL does when it likes.  Bytes of WAL are looked at elsewhere.  Likewise what
# other extensions show of this database.
sub make_statistics
{
	my ($node, @beside) = @_;
	my @views = split /\n/, value($node, <<'EOT');
SELECT c.relname || '|' || string_agg(format('%L, %I::numeric', attname, attname), '), (' ORDER BY attnum) FILTER (WHERE atttypid IN ('int8'::regtype, 'int4'::regtype, 'float8'::regtype))
	|| '|' || coalesce(string_agg(attname, ', ' ORDER BY attnum) FILTER (WHERE atttypid IN ('name'::regtype, 'text'::regtype) AND attname <> 'datname'), 'NULL')
	|| '|' || bool_or(attname = 'datname')
FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid AND attname !~ 'pid$|_time$|^wal_(bytes|write|sync)$'
WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'v' AND relname ~ '^pg_stat(io)?_'
	AND relname !~ '_(sys|user)_(tables|indexes|sequences)$|_(activity|ssl|gssapi|replication|wal_receiver|recovery_prefetch)$|_progress_|_subscription|_xact_'
	AND has_table_privilege('public', c.oid, 'SELECT')
GROUP BY c.oid ORDER BY 1
EOT
	my @rows = map {
		my ($view, $counters, $names, $of_database) = split /\|/;

		"SELECT concat_ws(' ', '$view', $names, counter), value FROM $view, LATERAL (VALUES ($counters)) AS v (counter, value) WHERE value <> 0"
		  . ($of_database eq 'true' ? ' AND coalesce(datname, current_database()) = current_database()' : '')
	} @views;
	push @rows, map { $others{$_} // () } @beside;

	value($node, 'CREATE FUNCTION statistics() RETURNS TABLE (thing text, value numeric, times int) LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT thing, sum(value), 1 FROM (' . join(' UNION ALL ', @rows) . ') AS q (thing, value) GROUP BY thing; END');
	return scalar @views;
}

# Functions for looking, which everybody may call; the superuser's, since what
# an analyst sees of a server that is not hardened is looked at in both.  Returns
# how many views of statistics there are.
sub make_sight
{
	my ($node, @beside) = @_;

	value($node, <<'EOT');
CREATE FUNCTION end_readers() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dp_pg reader';
	LOOP
		PERFORM pg_sleep(0.002), pg_stat_clear_snapshot();
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'dp_pg reader');
	END LOOP;
END $$;
CREATE FUNCTION peak(process int) RETURNS int SECURITY DEFINER
RETURN substring(pg_read_file('/proc/' || process || '/status') FROM 'VmPeak:\s+(\d+)')::int;
CREATE FUNCTION reader_peak() RETURNS int SECURITY DEFINER
RETURN (SELECT max(peak(pid)) FROM pg_stat_activity WHERE application_name = 'dp_pg reader');
CREATE FUNCTION worker_peaks() RETURNS SETOF int SECURITY DEFINER
BEGIN ATOMIC SELECT line::int FROM string_to_table(pg_read_file('process_peak'), E'\n') AS line WHERE line <> ''; END;
CREATE FUNCTION worker_locks() RETURNS SETOF text SECURITY DEFINER
BEGIN ATOMIC SELECT line FROM string_to_table(pg_read_file('worker_locks'), E'\n') AS line WHERE line <> '' ORDER BY line COLLATE "C"; END;
CREATE FUNCTION libraries() RETURNS SETOF text SECURITY DEFINER
BEGIN ATOMIC
	SELECT DISTINCT backend_type || ' ' || file
	FROM pg_stat_activity, regexp_matches(pg_read_file('/proc/' || pid || '/maps'), '/([^/\n]*\.so[^/\n]*)\n', 'g') AS m (match), unnest(match) AS file
	WHERE pid = pg_backend_pid() OR application_name = 'dp_pg reader' ORDER BY 1;
END;
CREATE FUNCTION begin_statement(number int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE file text;
BEGIN
	FOREACH file IN ARRAY ARRAY['process_peak', 'worker_locks'] LOOP
		EXECUTE format('COPY (SELECT WHERE false) TO %L', current_setting('data_directory') || '/' || file);
	END LOOP;
	RAISE LOG 'statement %', number;
END $$;
CREATE FUNCTION positions(OUT wal numeric, OUT size bigint, OUT disk bigint) SECURITY DEFINER
RETURN (pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), pg_database_size(current_database()), pg_tablespace_size('pg_default'));

-- A connection of the analyst's that looks at others, one of which is called
-- 'asker N', until that is called 'asker end': of each N, what it saw and how often.
CREATE FUNCTION watch() RETURNS TABLE (number text, thing text, times bigint) LANGUAGE plpgsql AS $$
DECLARE
	was text;
	is_now text;
	alone int := 0;
	seen text[] := '{}';
	mine oid := (SELECT oid FROM pg_database WHERE datname = current_database());
BEGIN
	WHILE alone < 10000 LOOP
		PERFORM pg_stat_clear_snapshot(), pg_sleep(0.001);
		SELECT a.application_name INTO is_now FROM pg_stat_get_activity(NULL) AS a WHERE a.application_name ~ '^asker ';
		alone := CASE WHEN is_now IS NULL THEN alone + 1 ELSE 0 END;
		CONTINUE WHEN is_now IS NULL;
		IF is_now IS DISTINCT FROM was THEN
			RETURN QUERY SELECT was, x, count(*) FROM unnest(seen) AS x GROUP BY x;
			EXIT WHEN is_now = 'asker end';
			was := is_now;
			seen := '{}';
		END IF;
		CONTINUE WHEN is_now = 'asker idle';
		seen := seen || ARRAY(
			SELECT concat_ws(' ', 'asker', wait_event_type, wait_event) FROM pg_stat_get_activity(NULL) AS a WHERE a.application_name = is_now AND state = 'active' AND wait_event IS NOT NULL
			UNION ALL
			SELECT concat_ws(' ', 'process', application_name, state, wait_event_type, wait_event, count(*)) FROM pg_stat_get_activity(NULL) AS a
			WHERE a.datid = mine AND pid <> pg_backend_pid() AND a.application_name <> is_now GROUP BY application_name, state, wait_event_type, wait_event
			UNION ALL
			SELECT concat_ws(' ', 'lock', locktype, relation, page, tuple, mode, granted) FROM pg_lock_status() AS l
			WHERE pid <> pg_backend_pid() AND NOT (granted AND EXISTS (SELECT FROM pg_stat_get_activity(l.pid) AS a WHERE a.application_name = is_now)));
	END LOOP;
END $$;
EOT
	return make_statistics($node, @beside);
}

# ---- a second connection ----

sub start_watch
{
	my ($connection) = @_;
	my $watch = { out => '', err => '' };

	$watch->{h} = IPC::Run::start([ 'psql', '-XAtq', '-d', "$connection application_name=watcher", '-c', 'SELECT * FROM watch()' ], '<', '/dev/null', '>', \$watch->{out}, '2>', \$watch->{err});
	return $watch;
}

# Of each statement by its number: what was seen for long.
sub end_watch
{
	my ($watch) = @_;
	my %seen;

	$watch->{h}->finish or die "the watcher failed: $watch->{err}";
	foreach (split /\n/, $watch->{out})
	{
		my ($asker, $thing, $times) = split /\|/;

		$seen{$1}{$thing} = $times if $asker =~ /(\d+)/;
	}
	return \%seen;
}

# What one saw for long, and the other never?
sub watched_alike
{
	my ($a, $b) = @_;

	return !grep { max($a->{$_} // 0, $b->{$_} // 0) >= LONG && !($a->{$_} && $b->{$_}) } keys %{ { %$a, %$b } };
}

sub sight_lines
{
	my ($seen) = @_;

	return ref $seen ? map { "$_: $seen->{$_}" } sort keys %$seen : split /\n/, $seen;
}

# Two sightings as texts, of several lines those that one has alone, if any.
sub apart
{
	my @lines = map { [ sight_lines($_) ] } @_;
	my @alone = map {
		my %other = map { $_ => 1 } @{ $lines[ 1 - $_ ] };

		join "\n  ", grep { !$other{$_} } @{ $lines[$_] }
	} 0, 1;

	return "@alone" ne ' ' ? @alone : map { join "\n  ", @$_ } @lines;
}

# ---- temporary files ----

# Of each statement by its number, sizes of files that PostgreSQL has removed.
sub temporary_files
{
	my ($node, $mark) = @_;
	my (undef, @parts) = split /LOG:  statement (\d+)\n/, log_since($node, $mark);
	my %files;

	while (my ($number, $text) = splice @parts, 0, 2)
	{
		$files{$number} = join ' ', sort { $a <=> $b } $text =~ /temporary file: path "[^"]*", size (\d+)/g;
	}
	return \%files;
}

1;
