# Checks of Perl's DBD::mysql and DBD::MariaDB: perl check.pl mysql|MariaDB.
#
# Prints a line "ok NAME: DETAIL" or "not ok NAME: WHY" for each check. What is
# printed must depend on the server only, not on the moment or the connection.
use strict;
use warnings;
use utf8;
use DBI qw(:sql_types);
use Digest::SHA qw(sha1_hex);
use Encode qw(encode_utf8 is_utf8);
use File::Temp;
use Time::HiRes;

my $driver = shift;
my $x = lc $driver;    # the prefix of the driver's attributes
my $mode = $ENV{CLIENTS_MODE};
$| = 1;

sub login {
    my %over = @_;
    my $dsn = "dbi:$driver:host=$ENV{CLIENTS_HOST};port=$ENV{CLIENTS_PORT}";
    my $database = exists $over{database} ? delete $over{database} : $ENV{CLIENTS_DATABASE};
    $dsn .= ";database=$database" if defined $database;
    $dsn .= ";${x}_local_infile=1;${x}_connect_timeout=20";
    $dsn .= ";${x}_ssl=1;${x}_ssl_ca_file=$ENV{CLIENTS_CA};${x}_ssl_verify_server_cert=1" if $mode eq 'tls';
    $dsn .= ";${x}_compression=1" if $mode eq 'compressed';
    $dsn .= ';' . delete $over{dsn} if $over{dsn};
    my $user     = delete $over{user}     // $ENV{CLIENTS_USER};
    my $password = delete $over{password} // $ENV{CLIENTS_PASSWORD};
    my %attributes = (RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoInactiveDestroy => 1, %over);
    $attributes{mysql_enable_utf8mb4} = 1 if $x eq 'mysql';
    return DBI->connect($dsn, $user, $password, \%attributes);
}

sub brief {
    my $v = shift;
    return 'undef' if !defined $v;
    return '[' . join(', ', map { brief($_) } @$v) . ']' if ref $v;
    if (length $v > 200) {
        return 'string[' . length($v) . '] ' . sha1_hex(is_utf8($v) ? encode_utf8($v) : $v);
    }
    $v =~ s/([^ -~]|\\)/sprintf '\\x{%x}', ord $1/ge;
    return $v;
}

sub rows {
    my ($c, $sql, @args) = @_;
    return brief($c->selectall_arrayref($sql, undef, @args));
}

sub fails {
    my $f = shift;
    my $v = eval { $f->() };
    return $@ ? ($DBI::err // '') . ' ' . ($DBI::state // '') . ' ' . ($DBI::errstr // $@) : 'no error: ' . brief($v);
}

# sets reads all results that are waiting.
sub sets {
    my $s = shift;
    my @out;
    do { push @out, $s->{NUM_OF_FIELDS} ? brief($s->fetchall_arrayref) : $s->rows } while (!$s->{"${x}_server_prepare"} && $s->more_results);
    return @out;
}

my @types = split /\n/, <<'END';
i1 TINYINT/-128
u1 TINYINT UNSIGNED/255
i4 INT NOT NULL PRIMARY KEY DEFAULT 7/1
i8 BIGINT/-9223372036854775808
u8 BIGINT UNSIGNED/18446744073709551615
d DECIMAL(30,10)/-12345678901234567890.0123456789
f FLOAT/1.5
g DOUBLE/1e300
y YEAR/2026
dd DATE/2026-11-30
tt TIME(3)/-838:59:58.123
dt DATETIME(6)/2026-11-30 23:59:59.999999
ts TIMESTAMP NULL/2001-02-03 04:05:06
c CHAR(5)/ab
v VARCHAR(40)/größe 🐬 '"\
tx TEXT/text
e ENUM('a','b')/b
s SET('x','y','z')/x,z
z INT ZEROFILL/42
j LONGTEXT/{"k": [1, null]}
vb VARBINARY(300)/bytes
END

my (@checks, %checks);
sub check { my ($name, $f) = @_; push @checks, $name; $checks{$name} = $f }

check login => sub {
    my $c = shift;
    return rows($c, 'SELECT CURRENT_USER(), DATABASE(), @@character_set_client') . " $c->{\"${x}_serverversion\"} $c->{\"${x}_protoinfo\"}";
};

check login_refused => sub {
    return join '; ', map { my $o = $_; fails(sub { login(%$o) }) } { password => 'wrong' }, { user => 'nobody' }, { password => '' }, { database => 'nowhere' };
};

check login_options => sub {
    my $o = login(dsn => "${x}_init_command=SET \@a = 5", user => $ENV{CLIENTS_OTHER_USER}, password => $ENV{CLIENTS_OTHER_PASSWORD});
    return rows($o, 'SELECT @a, CURRENT_USER()') . rows(login(database => undef), 'SELECT DATABASE()');
};

for my $server_side (0, 1) {
    my $suffix = $server_side ? 'prepared' : 'text';
    my $new = sub { login("${x}_server_prepare" => $server_side, @_) };

    check "types_$suffix" => sub {
        my $c = $new->();
        my (@columns, @values);
        for (@types) { my ($column, $value) = split m{/}, $_, 2; push @columns, $column; push @values, $value }
        $values[-1] = join '', map { chr } 0 .. 255;
        $c->do("CREATE TABLE types_$suffix (" . join(', ', @columns) . ')');
        my $s = $c->prepare("INSERT INTO types_$suffix VALUES (" . join(', ', ('?') x @values) . ')');
        for my $i (0 .. $#values) {
            my $type = $i < 4 || $i == 8 ? SQL_INTEGER : $i == $#values ? SQL_BLOB : SQL_VARCHAR;
            $s->bind_param($i + 1, $values[$i], $type);
        }
        my $n = $s->execute;
        $c->do("INSERT INTO types_$suffix (i4) VALUES (2)");
        $s = $c->prepare("SELECT * FROM types_$suffix WHERE i4 >= ? ORDER BY i4");
        $s->execute(1);
        my @meta = map { brief($s->{$_}) } 'NAME', 'TYPE', 'PRECISION', 'SCALE', 'NULLABLE', "${x}_type", "${x}_type_name", "${x}_is_pri_key", "${x}_length", "${x}_is_num";
        return join ' ', $n, brief($s->fetchall_arrayref), @meta;
    };

    check "big_values_$suffix" => sub {
        my $c = $new->(LongReadLen => 32 << 20);
        my $big = '0123456789abcdef' x (20 << 16);
        $c->do("CREATE TABLE big_$suffix (id INT PRIMARY KEY, b LONGBLOB)");
        my $s = $c->prepare("INSERT INTO big_$suffix VALUES (1, ?)");
        $s->bind_param(1, $big, SQL_BLOB);
        $s->execute;
        return rows($c, "SELECT b, 'after' FROM big_$suffix") . rows($c, 'SELECT LENGTH(?)', $big) . rows($c, 'SELECT ?', 'x' x ((1 << 24) - 1));
    };

    check "null_and_reuse_$suffix" => sub {
        my $c = $new->();
        my $s = $c->prepare('SELECT ?, ? + 1, ?');
        my @out;
        for my $args ([1, 2, 3], [undef, undef, undef], ['', 1.5, "x\0y"], ['größe', '7', 'z' x 300]) {
            $s->execute(@$args);
            push @out, brief($s->fetchall_arrayref);
        }
        return "@out";
    };

    check "many_$suffix" => sub {
        my $c = $new->();
        my @all = map { $c->prepare("SELECT $_, ?") } 0 .. 299;
        my $sum = 0;
        for my $s (reverse @all) {
            $s->execute(5);
            my @row = $s->fetchrow_array;
            $s->finish;
            $sum += $row[0] + $row[1];
        }
        my $s = $c->prepare_cached('SELECT ? * 2');
        return $sum . ' ' . join ' ', map { $c->selectrow_array($s, undef, $_) } 1 .. 3;
    };

    check "errors_$suffix" => sub {
        my $c = $new->();
        $c->do("CREATE TABLE er_$suffix (i INT PRIMARY KEY)");
        $c->do("INSERT INTO er_$suffix VALUES (1)");
        my @out;
        for my $sql ('SELEC 1', 'SELECT * FROM nowhere', 'SELECT nothing', "INSERT INTO er_$suffix VALUES (1)", 'SELECT EXP(1000)', "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'own', MYSQL_ERRNO = 30001", 'SELECT 1; SELECT 2') {
            push @out, fails(sub { my $s = $c->prepare($sql); $s->execute; $s->fetchall_arrayref });
        }
        return join '; ', @out;
    };

    check "procedure_$suffix" => sub {
        my $c = $new->();
        $c->do("CREATE PROCEDURE p_$suffix (IN a INT, OUT b INT) BEGIN SELECT a; SELECT a + 1, 'x'; SET b = a * 2; END");
        my $s = $c->prepare("CALL p_$suffix(?, \@b)");
        $s->execute(21);
        my @out = sets($s);
        return "@out " . rows($c, 'SELECT @b');
    };

    check "insert_ids_$suffix" => sub {
        my $c = $new->();
        my @out;
        $c->do("CREATE TABLE ids_$suffix (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)");
        for my $sql ("INSERT INTO ids_$suffix (v) VALUES (1)", "INSERT INTO ids_$suffix (v) VALUES (2), (3)", "UPDATE ids_$suffix SET v = v", "UPDATE ids_$suffix SET v = v + 100", "REPLACE INTO ids_$suffix VALUES (9, 101)", "DELETE FROM ids_$suffix") {
            my $s = $c->prepare($sql);
            my $n = $s->execute;
            push @out, join '/', $n, $s->rows, $s->{"${x}_insertid"} // 'undef', $c->last_insert_id(undef, undef, undef, undef) // 'undef', $c->{"${x}_info"} // 'undef';
        }
        return join('; ', @out) . rows($c, 'SELECT LAST_INSERT_ID()');
    };
}

check multi_statements => sub {
    my $c = login(dsn => "${x}_multi_statements=1");
    my $s = $c->prepare('SELECT 1; CREATE TABLE multi (i INT); INSERT INTO multi VALUES (1), (2); SELECT * FROM multi; UPDATE multi SET i = 9; DO 1; SELECT "last"');
    $s->execute;
    my @out = sets($s);
    push @out, fails(sub { my $s = $c->prepare('SELECT 1; SELECT * FROM nowhere; SELECT 3'); $s->execute; 1 while $s->more_results; 'end' });
    return join('; ', @out);
};

check transactions => sub {
    my $c = shift;
    my $o = login();
    $c->do('CREATE TABLE tx (i INT PRIMARY KEY)');
    $c->begin_work;
    $c->do('INSERT INTO tx VALUES (1)');
    my @out = rows($o, 'SELECT * FROM tx');
    $c->rollback;
    $c->{AutoCommit} = 0;
    $c->do('INSERT INTO tx VALUES (2)');
    $c->commit;
    push @out, rows($o, 'SELECT * FROM tx');
    $c->do('INSERT INTO tx VALUES (3)');
    $c->{AutoCommit} = 1;
    push @out, rows($o, 'SELECT * FROM tx'), rows($c, 'SELECT @@autocommit');
    $c->do('START TRANSACTION READ ONLY');
    push @out, fails(sub { $c->do('INSERT INTO tx VALUES (4)') });
    $c->do('ROLLBACK');
    return "@out";
};

check load_local => sub {
    my $c = shift;
    $c->do('CREATE TABLE ld (i INT, s VARCHAR(100))');
    my $file = File::Temp->new;
    print $file "$_,line $_\n" for 0 .. 99999;
    close $file;
    my $n = $c->do("LOAD DATA LOCAL INFILE '" . $file->filename . "' INTO TABLE ld FIELDS TERMINATED BY ','");
    return "$n $c->{\"${x}_info\"} " . rows($c, 'SELECT COUNT(*), SUM(i), MAX(s) FROM ld') . fails(sub { $c->do("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE ld") });
};

check warnings => sub {
    my $c = shift;
    $c->do("SET SESSION sql_mode = ''");
    $c->do('CREATE TABLE wn (i TINYINT)');
    my $s = $c->prepare("INSERT INTO wn VALUES (1000), ('x')");
    $s->execute;
    my $n = $s->{"${x}_warning_count"};
    return "$n " . rows($c, 'SHOW WARNINGS') . rows($c, 'SELECT @@warning_count');
};

check found_rows => sub {
    my $c = shift;
    $c->do('CREATE TABLE fr (i INT)');
    $c->do('INSERT INTO fr VALUES (1), (1), (1)');
    my $o = login(dsn => "${x}_client_found_rows=0");
    return join ' ', $c->do('UPDATE fr SET i = 1'), $o->do('UPDATE fr SET i = 1');
};

check streaming => sub {
    my $c = shift;
    my $s = $c->prepare('WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i, b.i, REPEAT("z", 50) FROM n a, n b WHERE b.i <= 50', { "${x}_use_result" => 1 });
    $s->execute;
    my $first = brief([$s->fetchrow_array]);
    my $n = 1;
    $n++ while $s->fetchrow_arrayref;
    undef $s;
    return "$first $n" . rows($c, 'SELECT "next"');
};

check session_state => sub {
    my $c = shift;
    my $o = login();
    $c->do(q{SET @a = 1, @b = 'zwei', SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'});
    $c->do('CREATE TEMPORARY TABLE tmp (i INT)');
    my @out;
    for my $i (1 .. 3) {
        $c->do("INSERT INTO tmp VALUES ($i)");
        push @out, rows($c, 'SELECT @a, @b, @@time_zone, COUNT(*) AS "n" FROM tmp'), rows($o, 'SELECT @a, @b, @@sql_mode = "ANSI_QUOTES"'), fails(sub { rows($o, 'SELECT * FROM tmp') });
    }
    return "@out";
};

check async_and_kill => sub {
    my $c = shift;
    my $async = $x eq 'mysql' ? 'async' : 'mariadb_async';
    my ($ready, $result, $stat) = map { "${x}_$_" } 'async_ready', 'async_result', 'stat';
    my @out;
    my $s = $c->prepare('SELECT ?, SLEEP(0.05)', { $async => 1 });
    $s->execute(7);
    Time::HiRes::sleep(0.01) until $s->$ready;
    push @out, $s->$result, brief($s->fetchall_arrayref);
    my $victim = login();
    my $v = $victim->prepare("SELECT SLEEP(60), 'killed'", { $async => 1 });
    $v->execute;
    1 until rows($c, q{SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60)%'}) eq '[[1]]';
    $c->do('KILL QUERY ' . $victim->{"${x}_thread_id"});
    push @out, fails(sub { $v->$result; $v->fetchall_arrayref });
    push @out, rows($victim, q{SELECT 'lives'});
    $c->do('KILL ' . $victim->{"${x}_thread_id"});
    1 while $victim->ping;
    return join('; ', @out, $c->ping) . ' ' . ($c->{$stat} =~ /^Uptime: / ? 1 : 0) . ($c->{"${x}_thread_id"} == $c->selectrow_array('SELECT CONNECTION_ID()') ? 1 : 0);
};

check metadata => sub {
    my $c = shift;
    local $SIG{__WARN__} = sub { };
    my $info = $c->column_info(undef, undef, 'types_text', '%')->fetchall_arrayref;
    return brief([map { [@$_[3 .. 10]] } @$info]) . brief([$c->primary_key(undef, undef, 'types_text')]) . $c->quote("it's \\ \0") . $c->quote_identifier('a`b');
};

for my $name (@checks) {
    my $line = eval {
        my $c = login();
        my $detail = $checks{$name}->($c);
        $c->disconnect;
        "ok $name: $detail";
    } // "not ok $name: $@";
    $line =~ s/\s+/ /g;
    print encode_utf8($line), "\n";
}
