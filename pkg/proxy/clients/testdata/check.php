<?php
// Checks of PHP's mysqli and PDO, both on mysqlnd: php check.php.
//
// Prints a line "ok NAME: DETAIL" or "not ok NAME: WHY" for each check. What is
// printed must depend on the server only, not on the moment or the connection.

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$mode = getenv('CLIENTS_MODE');

function login($user = null, $password = null, $database = null, $flags = 0, $host = '', $before = null): mysqli {
    global $mode;
    $c = mysqli_init();
    $c->options(MYSQLI_OPT_LOCAL_INFILE, 1);
    $c->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, 1);
    if ($before) $before($c);
    if ($mode === 'tls') {
        $c->ssl_set(null, null, getenv('CLIENTS_CA'), null, null);
        $flags |= MYSQLI_CLIENT_SSL;
    }
    if ($mode === 'compressed') $flags |= MYSQLI_CLIENT_COMPRESS;
    $c->real_connect(
        $host . getenv('CLIENTS_HOST'), $user ?? getenv('CLIENTS_USER'), $password ?? getenv('CLIENTS_PASSWORD'),
        $database ?? getenv('CLIENTS_DATABASE'), (int) getenv('CLIENTS_PORT'), null, $flags
    );
    return $c;
}

function pdo(array $options = []): PDO {
    global $mode;
    $options += [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
        PDO::MYSQL_ATTR_LOCAL_INFILE => true,
    ];
    if ($mode === 'tls') $options[PDO::MYSQL_ATTR_SSL_CA] = getenv('CLIENTS_CA');
    if ($mode === 'compressed') {
        $options[PDO::MYSQL_ATTR_COMPRESS] = true;
    }
    $dsn = sprintf('mysql:host=%s;port=%s;dbname=%s;charset=utf8mb4', getenv('CLIENTS_HOST'), getenv('CLIENTS_PORT'), getenv('CLIENTS_DATABASE'));
    return new PDO($dsn, getenv('CLIENTS_USER'), getenv('CLIENTS_PASSWORD'), $options);
}

function brief($v): string {
    if (is_string($v) && strlen($v) > 200) return 'string[' . strlen($v) . '] ' . sha1($v);
    if (is_array($v)) {
        $parts = [];
        foreach ($v as $k => $x) {
            $parts[] = (is_int($k) ? '' : "$k=") . brief($x);
        }
        return '[' . implode(', ', $parts) . ']';
    }
    return is_string($v) ? '"' . addcslashes($v, "\0..\37\"\\\177..\377") . '"' : var_export($v, true);
}

function rows($c, string $sql): string {
    $r = $c->query($sql);
    if ($c instanceof PDO) return brief($r->fetchAll());
    return $r === true ? "affected {$c->affected_rows}" : brief($r->fetch_all());
}

function fails(callable $f): string {
    try {
        return 'no error: ' . brief($f());
    } catch (mysqli_sql_exception $e) {
        return $e->getCode() . ' ' . $e->getSqlState() . ' ' . preg_replace('/handler \(\d+\)/', 'handler', $e->getMessage());
    } catch (ValueError $e) {
        return $e->getMessage(); // the client itself refuses
    } catch (PDOException $e) {
        return brief($e->errorInfo ?? $e->getMessage());
    }
}

// sets reads all results that are waiting.
function sets(mysqli $c): string {
    $out = [];
    do {
        $r = $c->store_result();
        $out[] = $r ? brief($r->fetch_all()) : "affected {$c->affected_rows} id {$c->insert_id} warnings {$c->warning_count}";
    } while ($c->more_results() && $c->next_result());
    return implode('; ', $out);
}

function preparedSets(mysqli_stmt $s): string {
    $out = [];
    do {
        $r = $s->get_result();
        $out[] = $r ? brief($r->fetch_all()) : 'no rows';
    } while ($s->more_results() && $s->next_result());
    return implode('; ', $out);
}

function columns($r): string {
    $out = [];
    foreach ($r->fetch_fields() as $f) {
        $out[] = "$f->name/$f->orgname/$f->table/$f->orgtable/$f->db/$f->charsetnr/$f->flags/$f->type/$f->decimals/$f->length/$f->max_length";
    }
    return implode(' ', $out);
}

$columns = "i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, i3 MEDIUMINT, i4 INT NOT NULL DEFAULT 7, i8 BIGINT, u8 BIGINT UNSIGNED,
    d DECIMAL(30,10), f FLOAT, g DOUBLE, b BIT(12), y YEAR, dd DATE, tt TIME(3), dt DATETIME(6), ts TIMESTAMP NULL,
    c CHAR(5), v VARCHAR(40), vb VARBINARY(300), tx TEXT, bl BLOB, e ENUM('a','b'), s SET('x','y','z'), z INT ZEROFILL,
    j JSON, PRIMARY KEY (i4), KEY (v)";
$values = [
    -128, 255, -32768, 8388607, 1, PHP_INT_MIN, '18446744073709551615', '-12345678901234567890.0123456789', 1.5, 1e300, 4095, 2026, '2026-11-30',
    '-838:59:58.123', '2026-11-30 23:59:59.999999', '2001-02-03 04:05:06', 'ab', "gr\u{fc}\u{df}e \u{1f42c} '\"\\\0\n", implode('', array_map('chr', range(0, 255))), 'text', "\xff\xfe",
    'b', 'x,z', 42, '{"k": [1, null]}',
];

$checks = [];

$checks['login'] = function ($c) {
    return rows($c, 'SELECT CURRENT_USER(), DATABASE(), @@character_set_client') . ' ' . $c->character_set_name() . ' ' . $c->server_version . ' ' . $c->protocol_version;
};

$checks['login_refused'] = function ($c) {
    return implode('; ', [
        fails(fn () => login(null, 'wrong')), fails(fn () => login('nobody')), fails(fn () => login(null, '')), fails(fn () => login(null, null, 'nowhere')),
    ]);
};

$checks['login_options'] = function ($c) {
    $o = login(before: function ($o) {
        $o->options(MYSQLI_INIT_COMMAND, "SET @a = 5, SESSION sql_mode = 'ANSI_QUOTES'");
        $o->options(MYSQLI_SET_CHARSET_NAME, 'latin1');
    });
    return rows($o, 'SELECT @a, @@character_set_client AS "quoted"') . rows(login(database: ''), 'SELECT DATABASE()');
};

$checks['types_text'] = function ($c) use ($columns, $values) {
    $c->query("CREATE TABLE types ($columns)");
    $quoted = array_map(fn ($v) => is_int($v) || is_float($v) ? $v : "_binary'" . $c->real_escape_string($v) . "'", $values);
    $quoted[17] = "'" . $c->real_escape_string($values[17]) . "'";
    $quoted[24] = "'" . $c->real_escape_string($values[24]) . "'";
    $c->query('INSERT INTO types VALUES (' . implode(',', $quoted) . ')');
    $c->query('INSERT INTO types (i4) VALUES (2)');
    $r = $c->query('SELECT * FROM types ORDER BY i4');
    return columns($r) . ' ' . brief($r->fetch_all());
};

$checks['types_prepared'] = function ($c) use ($columns, $values) {
    $c->query("CREATE TABLE types_prepared ($columns)");
    $s = $c->prepare('INSERT INTO types_prepared VALUES (' . implode(',', array_fill(0, count($values), '?')) . ')');
    $s->bind_param('iiiiiissddiissssssbssssis', ...$values);
    $s->send_long_data(18, $values[18]);
    $s->execute();
    $out = "params {$s->param_count} affected {$s->affected_rows} ";
    $s = $c->prepare('SELECT * FROM types_prepared WHERE i4 = ?');
    $s->execute([1]);
    $r = $s->get_result();
    $out .= columns($r) . ' ' . brief($r->fetch_all());
    $s = $c->prepare('SELECT ?, ?, ?, ?, ?, ?');
    foreach ([['iiddss', 1, null, 2.5, null, 'x', null], ['ssssss', 'a', 'b', 3, 4.5, null, ''], ['bisdis', null, -1, '7', 8, PHP_INT_MAX, str_repeat('s', 300)]] as $row) {
        $s->bind_param(...$row);
        $s->execute();
        $out .= brief($s->get_result()->fetch_all());
    }
    return $out;
};

$checks['big_values'] = function ($c) {
    $big = str_repeat('0123456789abcdef', 20 << 16);
    $c->query('CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)');
    $c->query("INSERT INTO big VALUES (1, '$big')");
    $s = $c->prepare('INSERT INTO big VALUES (2, ?)');
    $s->execute([$big]);
    $s = $c->prepare('INSERT INTO big VALUES (3, ?)');
    $none = null;
    $s->bind_param('b', $none);
    foreach (str_split($big, 1 << 20) as $part) $s->send_long_data(0, $part);
    $s->execute();
    $out = rows($c, 'SELECT id, LENGTH(b), SHA2(b, 256) FROM big');
    $out .= rows($c, 'SELECT b, 1 FROM big WHERE id = 1');
    $s = $c->prepare('SELECT b, 1 FROM big WHERE id > 1');
    $s->execute();
    $out .= brief($s->get_result()->fetch_all());
    foreach ([(1 << 24) - 5, (1 << 24) - 1, 1 << 24] as $size) {
        $s = $c->prepare('SELECT LENGTH(?), ?');
        $s->execute([str_repeat('x', $size - (1 << 23)), str_repeat('y', 1 << 23)]);
        $out .= $s->get_result()->fetch_row()[0] . ' ';
        $out .= $c->query("SELECT '" . str_repeat('z', $size - 10) . "'")->lengths[0] ?? '';
    }
    return $out;
};

$checks['multi_statements'] = function ($c) {
    $c->multi_query("SELECT 1; CREATE TABLE multi (i INT AUTO_INCREMENT PRIMARY KEY, v INT); INSERT INTO multi (v) VALUES (1),(2); SELECT * FROM multi; UPDATE multi SET v = 9; DO 1; SELECT CAST('x' AS SIGNED); SELECT 'last'");
    $out = sets($c) . '; ' . fails(function () use ($c) {
        $c->multi_query('SELECT 1; SELECT * FROM nowhere; SELECT 3');
        return sets($c);
    });
    return $out . '; ' . rows($c, "SELECT 'next'") . fails(fn () => $c->query('SELECT 1; SELECT 2'));
};

$checks['procedure'] = function ($c) {
    $c->query("CREATE PROCEDURE p (IN a INT, OUT b INT, INOUT d VARCHAR(20)) BEGIN SELECT a, d; SELECT a + 1; SET b = a * 2, d = CONCAT(d, '!'); END");
    $c->query("SET @b = 0, @d = 'hi'");
    $c->multi_query('CALL p(21, @b, @d)');
    $out = sets($c) . '; ' . rows($c, 'SELECT @b, @d');
    $s = $c->prepare('CALL p(?, @b, @d)');
    $s->execute([5]);
    return $out . '; ' . preparedSets($s);
};

$checks['procedure_out'] = function ($c) {
    $s = $c->prepare('CALL p(?, ?, ?)');
    $s->execute([3, 0, 'out']);
    return preparedSets($s) . rows($c, "SELECT 'next'");
};

$checks['transactions'] = function ($c) {
    $o = login();
    $c->query('CREATE TABLE tx (i INT PRIMARY KEY)');
    $c->begin_transaction(MYSQLI_TRANS_START_WITH_CONSISTENT_SNAPSHOT, 'name');
    $c->query('INSERT INTO tx VALUES (1)');
    $out = [rows($o, 'SELECT * FROM tx')];
    $c->rollback(); $c->autocommit(false);
    $c->query('INSERT INTO tx VALUES (2)');
    $c->savepoint('s');
    $c->query('INSERT INTO tx VALUES (3)');
    $c->query('ROLLBACK TO s');
    $c->commit();
    $out[] = rows($o, 'SELECT * FROM tx');
    $c->begin_transaction(MYSQLI_TRANS_START_READ_ONLY);
    $out[] = fails(fn () => $c->query('INSERT INTO tx VALUES (4)'));
    $c->commit(MYSQLI_TRANS_COR_AND_CHAIN);
    $out[] = rows($c, 'SELECT COUNT(*) FROM tx');
    $c->rollback(MYSQLI_TRANS_COR_NO_RELEASE);
    $c->autocommit(true);
    $out[] = rows($c, 'SELECT @@autocommit');
    return implode('; ', $out);
};

$checks['load_local'] = function ($c) {
    $c->query('CREATE TABLE ld (i INT, s VARCHAR(100))');
    $file = tempnam(sys_get_temp_dir(), 'ld');
    file_put_contents($file, implode('', array_map(fn ($i) => "$i,line $i\n", range(0, 99999))));
    $c->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE ld FIELDS TERMINATED BY ','");
    $out = $c->info . ' ' . rows($c, 'SELECT COUNT(*), SUM(i), MAX(s) FROM ld');
    file_put_contents($file, "x\ty\n");
    $out .= rows($c, "LOAD DATA LOCAL INFILE '$file' INTO TABLE ld") . $c->info . ' ' . $c->warning_count;
    unlink($file);
    $out .= fails(fn () => $c->query("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE ld")) . rows($c, "SELECT 'next'");
    $off = login(before: fn ($o) => $o->options(MYSQLI_OPT_LOCAL_INFILE, 0));
    return $out . fails(fn () => $off->query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE ld"));
};

$checks['charsets'] = function ($c) {
    $out = [];
    foreach (['latin1' => "gr\xfc\xdfe", 'utf8mb4' => "\u{1f42c}", 'gbk' => "\xc4\xe3\xba\xc3\x8c\x5c", 'sjis' => "\x83\x5c"] as $name => $text) {
        $c->set_charset($name);
        $out[] = rows($c, "SELECT @@character_set_client, @@collation_connection, HEX('" . $c->real_escape_string($text) . "')");
    }
    $c->query("SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci");
    $out[] = rows($c, "SELECT @@collation_connection, 'a' = 'A'");
    return implode('; ', $out);
};

$checks['errors'] = function ($c) {
    $out = [];
    foreach (['SELEC 1', 'SELECT * FROM nowhere', 'SELECT nothing', 'INSERT INTO types (i4) VALUES (1)', 'USE nowhere', '', "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'own', MYSQL_ERRNO = 30001",
        'SELECT (SELECT 1 UNION SELECT 2)', 'KILL 4294967295', 'SELECT 1 FROM types WHERE i4 = (SELECT 1 UNION SELECT 2)'] as $sql) {
        $out[] = fails(fn () => $c->query($sql)) . ' / ' . fails(fn () => $c->prepare($sql)->execute());
    }
    $out[] = brief($c->error_list) . rows($c, 'SHOW WARNINGS');
    $s = $c->prepare('SELECT EXP(?)');
    $s->bind_param('d', $x);
    foreach ([1.0, 1000.0, 0.0] as $x) {
        $out[] = fails(function () use ($s) {
            $s->execute();
            return $s->get_result()->fetch_all();
        });
    }
    return implode('; ', $out);
};

$checks['warnings'] = function ($c) {
    $c->query("SET SESSION sql_mode = ''");
    $c->query('CREATE TABLE wn (i TINYINT)');
    $c->query("INSERT INTO wn VALUES (1000), ('x')");
    $out = $c->warning_count . ' ';
    for ($w = $c->get_warnings(), $more = (bool) $w; $more; $more = $w->next()) {
        $out .= "$w->errno $w->sqlstate $w->message; ";
    }
    $s = $c->prepare('INSERT INTO wn VALUES (?)');
    $s->execute(['abc']);
    $w = $s->get_warnings();
    return $out . ($w ? "$w->errno $w->message" : 'none') . rows($c, 'SELECT 1') . $c->warning_count . rows($c, 'SHOW COUNT(*) WARNINGS');
};

$checks['insert_ids'] = function ($c) {
    $c->query('CREATE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)');
    $out = [];
    foreach ([
        'INSERT INTO ids (v) VALUES (1)', 'INSERT INTO ids (v) VALUES (2), (3)', 'INSERT INTO ids (v) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 1',
        'UPDATE ids SET v = 20 WHERE v = 2', 'SELECT LAST_INSERT_ID()', 'UPDATE ids SET id = LAST_INSERT_ID(id + 100) WHERE v = 3', 'SELECT LAST_INSERT_ID(), ROW_COUNT()',
        'INSERT INTO ids VALUES (500, 500)', 'REPLACE INTO ids VALUES (501, 500)', 'DELETE FROM ids', 'SELECT ROW_COUNT()',
    ] as $sql) {
        $s = $c->prepare($sql);
        $s->execute();
        $r = $s->get_result();
        $out[] = ($r ? brief($r->fetch_all()) : '') . " {$s->affected_rows} {$s->insert_id} {$c->insert_id} {$c->info}";
        $s->close();
    }
    $c->query('INSERT INTO ids (v) VALUES (7)');
    $out[] = "{$c->affected_rows} {$c->insert_id}" . rows($c, 'SELECT LAST_INSERT_ID()');
    return implode('; ', $out);
};

$checks['found_rows'] = function ($c) {
    $c->query('CREATE TABLE fr (i INT)');
    $c->query('INSERT INTO fr VALUES (1), (1), (1)');
    $o = login(flags: MYSQLI_CLIENT_FOUND_ROWS | MYSQLI_CLIENT_IGNORE_SPACE);
    return rows($c, 'UPDATE fr SET i = 1') . $c->info . rows($o, 'UPDATE fr SET i = 1') . $o->info . rows($o, 'SELECT COUNT (*) FROM fr');
};

$checks['streaming'] = function ($c) {
    $r = $c->query('WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i, b.i, REPEAT("z", 50) FROM n a, n b WHERE b.i <= 100', MYSQLI_USE_RESULT);
    $out = brief($r->fetch_row()) . fails(fn () => $c->query('SELECT 1'));
    for ($n = 1; $r->fetch_row(); $n++);
    $r->free();
    $r = $c->query('SELECT 1 UNION SELECT 2', MYSQLI_USE_RESULT);
    $r->fetch_row();
    $r->free();
    return "$out $n" . rows($c, "SELECT 'next'");
};

$checks['cursor'] = function ($c) {
    $c->query('CREATE TABLE cur (i INT PRIMARY KEY, t VARCHAR(20))');
    $c->query('INSERT INTO cur WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, CONCAT("row ", i) FROM n');
    $out = [];
    foreach ([1, 2] as $round) {
        $s = $c->prepare('SELECT * FROM cur WHERE i > ? ORDER BY i');
        $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $after = 400 + $round;
        $s->bind_param('i', $after);
        $s->execute();
        $s->bind_result($i, $t);
        for ($n = 0; $n < 50 && $s->fetch(); $n++);
        $between = rows($c, "SELECT 'between'");
        for (; $s->fetch(); $n++);
        $out[] = "$n $i $t $between";
        $s->execute();
        $s->fetch();
        $out[] = "$i";
        $s->free_result();
        $s->reset();
    }
    return implode('; ', $out);
};

$checks['many_prepared'] = function ($c) {
    $all = [];
    for ($i = 0; $i < 1000; $i++) {
        $all[] = $c->prepare("SELECT $i, ?");
    }
    $sum = 0;
    foreach (array_reverse($all, true) as $i => $s) {
        $s->execute([$i]);
        $row = $s->get_result()->fetch_row();
        $sum += $row[0] + $row[1];
        if ($i % 3) $s->close(); // the others end with the connection
    }
    $all[0]->execute(['again']);
    return $sum . brief($all[0]->get_result()->fetch_all()) . rows($c, "SHOW SESSION STATUS LIKE 'nothing'");
};

$checks['prepared_and_changes'] = function ($c) {
    $c->query('CREATE TABLE pc (a INT)');
    $c->query('INSERT INTO pc VALUES (1)');
    $s = $c->prepare('SELECT * FROM pc');
    $s->execute();
    $out = brief($s->get_result()->fetch_all());
    $c->query("ALTER TABLE pc ADD b VARCHAR(9) DEFAULT 'new'");
    $out .= fails(function () use ($s) {
        $s->execute();
        return $s->get_result()->fetch_all();
    });
    $c->query('DROP TABLE pc');
    return $out . fails(fn () => $s->execute());
};

$checks['session_state'] = function ($c) {
    $o = login();
    $c->query("SET @a = 1, @b = 'zwei', SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'");
    $c->query('CREATE TEMPORARY TABLE tmp (i INT)');
    $out = [];
    for ($i = 0; $i < 3; $i++) {
        $c->query("INSERT INTO tmp VALUES ($i)");
        $out[] = rows($c, 'SELECT @a, @b, @@time_zone, COUNT(*) AS "n" FROM tmp') . rows($o, 'SELECT @a, @b, @@sql_mode = "ANSI_QUOTES"') . fails(fn () => $o->query('SELECT * FROM tmp'));
    }
    return implode('; ', $out);
};

$checks['change_user'] = function ($c) {
    $c->query('SET @a = 1'); $c->query('CREATE TEMPORARY TABLE cu (i INT)');
    $s = $c->prepare('SELECT 1');
    $c->change_user(getenv('CLIENTS_OTHER_USER'), getenv('CLIENTS_OTHER_PASSWORD'), getenv('CLIENTS_DATABASE'));
    $out = rows($c, 'SELECT CURRENT_USER(), DATABASE(), @a') . fails(fn () => $c->query('SELECT * FROM cu')) . fails(fn () => $s->execute());
    $c->change_user(getenv('CLIENTS_USER'), getenv('CLIENTS_PASSWORD'), null);
    return $out . rows($c, 'SELECT CURRENT_USER(), DATABASE()') . fails(fn () => $c->change_user(getenv('CLIENTS_USER'), 'wrong', ''));
};

$checks['persistent'] = function ($c) {
    $p = login(host: 'p:');
    $p->query('SET @a = 1'); $p->query('CREATE TEMPORARY TABLE pt (i INT)');
    $id = $p->thread_id;
    $p->close();
    $p = login(host: 'p:');
    return brief($p->thread_id === $id) . rows($p, 'SELECT @a, DATABASE()') . fails(fn () => $p->query('SELECT * FROM pt'));
};

$checks['async'] = function ($c) {
    $all = [];
    foreach ([3, 1, 2] as $i) {
        $all[$i] = login();
        $all[$i]->query("SELECT $i, SLEEP(0.0$i)", MYSQLI_ASYNC);
    }
    $out = [];
    while ($all) {
        $read = $error = $reject = array_values($all);
        mysqli_poll($read, $error, $reject, 20);
        foreach ($read as $o) {
            $row = $o->reap_async_query()->fetch_row();
            $out[$row[0]] = $row;
            unset($all[$row[0]]);
        }
    }
    ksort($out); // they end in any order
    return brief($out);
};

$checks['kill_and_ping'] = function ($c) {
    $victim = login();
    $victim->query("SELECT SLEEP(60), 'killed'", MYSQLI_ASYNC);
    while (rows($c, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60)%'") !== '[[1]]');
    $c->query("KILL QUERY {$victim->thread_id}");
    $out = fails(fn () => $victim->reap_async_query()->fetch_all()) . rows($victim, "SELECT 'lives'");
    $c->query("KILL {$victim->thread_id}");
    do {
        $end = fails(fn () => $victim->query('SELECT 1'));
    } while (str_contains($end, 'no error'));
    return $out . brief(@$c->ping()) . brief(str_starts_with($c->stat(), 'Uptime: ')) . $end . brief($c->thread_id === (int) $c->query('SELECT CONNECTION_ID()')->fetch_row()[0]);
};

foreach (['emulated' => true, 'native' => false] as $name => $emulate) {
    $checks["pdo_$name"] = function ($c) use ($emulate, $values) {
        $p = pdo([PDO::ATTR_EMULATE_PREPARES => $emulate]);
        $p->exec('CREATE TABLE pdo_types LIKE types');
        $s = $p->prepare('INSERT INTO pdo_types VALUES (' . implode(',', array_fill(0, count($values), '?')) . ')');
        foreach ($values as $i => $v) {
            $s->bindValue($i + 1, $v, is_int($v) ? PDO::PARAM_INT : ($i === 18 || $i === 20 ? PDO::PARAM_LOB : PDO::PARAM_STR));
        }
        $s->execute();
        $out = [$s->rowCount(), $p->lastInsertId()];
        $s = $p->prepare('SELECT * FROM pdo_types WHERE i4 = :id OR v = :v');
        $s->execute(['id' => 1, 'v' => null]);
        $out[] = $s->fetchAll();
        $meta = $s->getColumnMeta(3);
        $out[] = [$meta['name'], $meta['native_type'], $meta['len'], $meta['flags']];
        $s = $p->prepare('CALL p(?, @b, @d)');
        $s->execute([9]);
        do {
            $out[] = $s->fetchAll();
        } while ($s->nextRowset() && $s->columnCount());
        $s->closeCursor();
        $out[] = $p->query('SELECT @b')->fetchAll();
        $p->beginTransaction(); $p->exec('DELETE FROM pdo_types');
        $out[] = $p->inTransaction();
        $p->rollBack();
        $out[] = $p->query('SELECT COUNT(*) FROM pdo_types')->fetchAll();
        $out[] = fails(fn () => $p->prepare('SELECT * FROM nowhere WHERE i = ?')->execute([1]));
        $out[] = fails(fn () => $p->exec('INSERT INTO pdo_types (i4) VALUES (1)'));
        $p->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $s = $p->query('SELECT 1 UNION SELECT 2 UNION SELECT 3');
        $out[] = $s->fetch();
        $out[] = fails(fn () => $p->query('SELECT 4'));
        $s->closeCursor();
        $out[] = $p->getAttribute(PDO::ATTR_SERVER_VERSION);
        $p->exec('DROP TABLE pdo_types');
        return brief($out);
    };
}

$checks['pdo_options'] = function ($c) {
    $p = pdo([PDO::MYSQL_ATTR_FOUND_ROWS => true, PDO::MYSQL_ATTR_INIT_COMMAND => 'SET @init = 3', PDO::ATTR_AUTOCOMMIT => false, PDO::ATTR_PERSISTENT => true]);
    $p->exec('INSERT INTO fr VALUES (1)');
    $p->exec('ROLLBACK');
    return brief([$p->exec('UPDATE fr SET i = 1'), $p->query('SELECT @init, @@autocommit')->fetchAll()]);
};

foreach ($checks as $name => $f) {
    try {
        $c = login();
        $c->set_charset('utf8mb4');
        $line = "ok $name: " . $f($c);
        @$c->close();
    } catch (Throwable $e) {
        $line = "not ok $name: " . get_class($e) . ': ' . $e->getMessage() . ' in line ' . $e->getLine();
    }
    echo preg_replace('/\s+/', ' ', $line), "\n";
}
