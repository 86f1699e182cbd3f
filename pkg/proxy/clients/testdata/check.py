"""Checks of PyMySQL and mysqlclient (MySQLdb): python3 check.py MODULE.

Prints a line "ok NAME: DETAIL" or "not ok NAME: WHY" for each check. What is
printed must depend on the server only, not on the moment or the connection.
"""
import datetime, decimal, hashlib, importlib, os, sys, tempfile, threading

db = importlib.import_module(sys.argv[1])
cursors = importlib.import_module(sys.argv[1] + ".cursors")
NATIVE = sys.argv[1] == "MySQLdb"  # libmariadb below, not Python
env = os.environ
MODE = env["CLIENTS_MODE"]
BIG = 20 << 20
CLIENT = importlib.import_module(sys.argv[1] + ".constants.CLIENT")

CHECKS = []

def check(f):
    CHECKS.append(f)
    return f

def connect(**over):
    args = dict(
        host=env["CLIENTS_HOST"], port=int(env["CLIENTS_PORT"]),
        user=env["CLIENTS_USER"], password=env["CLIENTS_PASSWORD"],
        charset="utf8mb4",
        local_infile=1,
        connect_timeout=20,
    )
    args["db" if NATIVE else "database"] = env["CLIENTS_DATABASE"]
    if MODE == "tls":
        args["ssl"] = {"ca": env["CLIENTS_CA"]}
    if MODE == "compressed":
        args["compress"] = True
    args.update(over)
    return db.connect(**{k: v for k, v in args.items() if v is not None})

def brief(v):
    if isinstance(v, (bytes, str)) and len(v) > 200:
        raw = v if isinstance(v, bytes) else v.encode()
        return "%s[%d] %s" % (type(v).__name__, len(v), hashlib.sha1(raw).hexdigest())
    return repr(v)

def every(cur):
    return "(" + ", ".join("(" + ", ".join(map(brief, r)) + ")" for r in cur.fetchall()) + ")"

def query(c, sql, args=None):
    with c.cursor() as cur:
        cur.execute(sql, args)
        return every(cur)

def fails(f):
    try:
        return "no error: %r" % (f(),)
    except db.Error as e:
        return "%s %s" % (type(e).__name__, " ".join(map(str, e.args)))

@check
def login(c):
    # What the proxy and the server speak is another matter: the client is asked, not the server.
    assert MODE != "tls" or NATIVE or c._secure, "not encrypted"
    return query(c, "SELECT CURRENT_USER(), DATABASE(), @@character_set_client")

@check
def login_refused(c):
    return "; ".join(
        fails(lambda: connect(**over))
        for over in ({"password": "wrong"}, {"user": "nobody"}, {"db" if NATIVE else "database": "nowhere"}, {"password": ""})
    )

@check
def login_other(c):
    o = connect(user=env["CLIENTS_OTHER_USER"], password=env["CLIENTS_OTHER_PASSWORD"])
    return query(o, "SELECT CURRENT_USER()")

@check
def login_without_database(c):
    o = connect(**{"db" if NATIVE else "database": None})
    first = query(o, "SELECT DATABASE()") + " " + fails(lambda: query(o, "SELECT * FROM t"))
    o.select_db(env["CLIENTS_DATABASE"])
    return first + " " + query(o, "SELECT DATABASE()")

@check
def login_options(c):
    o = connect(init_command="SET @a = 5", sql_mode="ANSI_QUOTES")
    return query(o, 'SELECT @a, @@sql_mode AS "quoted"')


TYPES = """CREATE TABLE types (
    i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, i3 MEDIUMINT, i4 INT NOT NULL DEFAULT 7, i8 BIGINT, u8 BIGINT UNSIGNED,
    d DECIMAL(30,10), f FLOAT, g DOUBLE, b BIT(12), y YEAR, dd DATE, tt TIME(3), dt DATETIME(6), ts TIMESTAMP NULL,
    c CHAR(5), v VARCHAR(40), vb VARBINARY(300), tx TEXT, bl BLOB, e ENUM('a','b'), s SET('x','y','z'), z INT ZEROFILL,
    j JSON, p POINT, PRIMARY KEY (i4), KEY (v))"""

@check
def types(c):
    query(c, TYPES)
    with c.cursor() as cur:
        row = (
            -128, 255, -32768, 8388607, 1, -(2**63), 2**64 - 1, decimal.Decimal("-12345678901234567890.0123456789"),
            1.5, 1e300, 4095, 2026, datetime.date(2026, 11, 30), datetime.timedelta(hours=838, minutes=59, seconds=58, microseconds=123000),
            datetime.datetime(2026, 11, 30, 23, 59, 59, 999999), datetime.datetime(2001, 2, 3, 4, 5, 6),
            "ab", "größe 🐬 '\"\\\0\n", bytes(range(256)), "text", b"\xff\xfe", "b", "x,z", 42, '{"k": [1, null]}', None,
        )
        cur.execute("INSERT INTO types VALUES (" + ",".join(["%s"] * len(row)) + ")", row)
        cur.execute("INSERT INTO types (i4, p) VALUES (2, POINT(1, -2))")
        cur.execute("SELECT * FROM types ORDER BY i4")
        return every(cur) + " " + repr(cur.description)

@check
def zero_dates(c):
    query(c, "SET SESSION sql_mode = ''")
    return query(c, "SELECT CAST('0000-00-00' AS DATE), CAST('0000-00-00 00:00:00' AS DATETIME), TIME('00:00:00')")

@check
def null_and_empty(c):
    return query(c, "SELECT NULL, '', 0, %s, %s", (None, ""))

@check
def big_values(c):
    text = ("0123456789abcdef" * (BIG // 16)).encode()
    with c.cursor() as cur:
        cur.execute("CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
        cur.execute("INSERT INTO big VALUES (1, _binary %s)", (text,))
        cur.execute("SELECT b, 'after' FROM big")
        ((back, after),) = cur.fetchall()
        assert back == text and after == "after", "changed on the way"
        out = []
        for size in (2**24 - 6, 2**24 - 5, 2**24 - 4, 2**24 - 1, 2**24, 2**24 + 1):
            cur.execute("SELECT REPEAT('x', %s), 'end'", (size,))
            out.append(every(cur))
        for size in range(2**24 - 12, 2**24 - 6):  # the statement fills its packet, or nearly
            cur.execute("SELECT 'yyyyy', LENGTH('" + "y" * (size - 25) + "')")
            out.append(every(cur))
    return " ".join(out)

@check
def wide_and_long(c):
    query(c, "SET SESSION sql_mode = ''")
    with c.cursor() as cur:
        cur.execute("SELECT " + ",".join("%d AS `column %d`" % (i, i) for i in range(3000)))
        row = cur.fetchone()
        cur.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i, b.i, REPEAT('z', a.i) FROM n a, n b WHERE b.i < 60")
        rows = cur.fetchall()
    return "%d %s %d %s" % (len(row), cur.description, len(rows), hashlib.sha1(repr(rows).encode()).hexdigest())

@check
def multi_statements(c):
    o = connect(client_flag=CLIENT.MULTI_STATEMENTS)
    out = []
    with o.cursor() as cur:
        cur.execute("SELECT 1; CREATE TABLE multi (i INT); INSERT INTO multi VALUES (1),(2); SELECT * FROM multi; UPDATE multi SET i = 9; DO 1; SELECT 'last'")
        while True:
            out.append("%s %s %s" % (cur.rowcount, every(cur) if cur.description else "", cur.lastrowid))
            if not cur.nextset():
                break

    def second_fails():
        with o.cursor() as cur:
            cur.execute("SELECT 1; SELECT * FROM nowhere; SELECT 3")
            while cur.nextset():
                pass

    out.append(fails(second_fails))
    out.append(query(o, "SELECT 'still here'"))
    return "; ".join(out)

@check
def multi_statements_refused(c):
    o = connect(client_flag=0) if NATIVE else c
    if NATIVE:
        o.set_server_option(1)  # MYSQL_OPTION_MULTI_STATEMENTS_OFF
    out = fails(lambda: query(o, "SELECT 1; SELECT 2"))
    if NATIVE:
        o.set_server_option(0)
        out += " " + query(o, "SELECT 3; SELECT 4")
    return out

@check
def procedure(c):
    query(c, "CREATE PROCEDURE p (IN a INT, OUT b INT, INOUT d VARCHAR(20)) BEGIN SELECT a; SELECT a + 1, 'x'; INSERT INTO types (i4) VALUES (1000 + a); SET b = a * 2, d = CONCAT(d, '!'); END")
    out = []
    with c.cursor() as cur:
        cur.execute("SET @_p_1 = NULL, @_p_2 = 'hi'")
        cur.callproc("p", (21, None, "hi"))
        while True:
            out.append(every(cur) if cur.description else "rows %d" % cur.rowcount)
            if not cur.nextset():
                break
        cur.execute("SELECT @_p_0, @_p_1, @_p_2")
        out.append(every(cur))
    return "; ".join(out)

@check
def transactions(c):
    o = connect()
    query(c, "CREATE TABLE tx (i INT PRIMARY KEY)")
    c.begin() if not NATIVE else query(c, "BEGIN")
    query(c, "INSERT INTO tx VALUES (1)")
    seen = [query(c, "SELECT * FROM tx"), query(o, "SELECT * FROM tx")]
    o.rollback()
    c.rollback()
    seen.append(query(c, "SELECT * FROM tx"))
    c.autocommit(False)
    query(c, "INSERT INTO tx VALUES (2)")
    query(c, "SAVEPOINT s")
    query(c, "INSERT INTO tx VALUES (3)")
    query(c, "ROLLBACK TO s")
    c.commit()
    seen.append(query(o, "SELECT * FROM tx"))
    query(c, "INSERT INTO tx VALUES (4)")
    query(c, "CREATE TABLE commits_implicitly (i INT)")
    c.rollback()
    c.autocommit(True)
    query(c, "INSERT INTO tx VALUES (5)")
    o.rollback()
    seen.append(query(o, "SELECT * FROM tx"))
    query(c, "START TRANSACTION READ ONLY")
    seen.append(fails(lambda: query(c, "INSERT INTO tx VALUES (6)")))
    query(c, "COMMIT")
    query(c, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    seen.append(query(c, "SELECT @@%s" % ("transaction_isolation" if env["CLIENTS_FLAVOR"] == "mysql" else "tx_isolation")))
    return "; ".join(seen)

@check
def autocommit_is_off_by_default(c):
    o = connect(autocommit=False)
    query(o, "CREATE TABLE ac (i INT)")
    query(o, "INSERT INTO ac VALUES (1)")
    before = query(c, "SELECT COUNT(*) FROM ac")
    c.rollback()
    o.commit()
    return before + query(c, "SELECT COUNT(*) FROM ac")

@check
def load_local(c):
    query(c, "CREATE TABLE ld (i INT, s VARCHAR(100))")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        for i in range(200000):
            f.write("%d,line %d\n" % (i, i))
        f.flush()
        with c.cursor() as cur:
            cur.execute("LOAD DATA LOCAL INFILE '%s' INTO TABLE ld FIELDS TERMINATED BY ','" % f.name)
            loaded = cur.rowcount
            c.commit()
            cur.execute("SELECT COUNT(*), SUM(i), MIN(s), MAX(s) FROM ld")
            out = every(cur)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        query(c, "LOAD DATA LOCAL INFILE '%s' INTO TABLE ld" % f.name)
    missing = fails(lambda: query(connect(), "LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE ld"))
    return "%d %s %s" % (loaded, out, missing)

@check
def charsets(c):
    out = []
    query(c, "CREATE TABLE cs (t VARCHAR(20) CHARACTER SET utf8mb4)")
    for name in ("latin1", "utf8mb4", "cp1251", "gbk"):
        o = connect(charset=name)
        text = {"latin1": "gr\u00fc\u00dfe", "utf8mb4": "gr\u00fc\U0001f42c", "cp1251": "\u043f\u0440", "gbk": "\u4f60\u597d\u5c05"}[name]
        query(o, "INSERT INTO cs VALUES (%s)", (text,))
        o.commit()
        out.append(query(o, "SELECT t, HEX(t), HEX(%s) FROM cs ORDER BY t DESC LIMIT 1", (text,)) if name == "utf8mb4" else query(o, "SELECT %s, HEX(%s)", (text, text)))
        out.append(o.character_set_name())
    query(c, "SET NAMES latin1 COLLATE latin1_german1_ci")
    out.append(query(c, "SELECT @@character_set_client, @@collation_connection, HEX('a')"))
    query(c, "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci")
    out.append(query(c, "SELECT @@character_set_client, @@collation_connection, 'a' = 'A'"))
    c.set_character_set("latin1") if NATIVE else c.set_charset("latin1")
    out.append(query(c, "SELECT @@character_set_client, @@collation_connection"))
    return "; ".join(out)

@check
def errors(c):
    out = [
        fails(lambda: query(c, s))
        for s in (
            "SELEC 1", "SELECT * FROM nowhere", "SELECT nothing", "INSERT INTO types (i4) VALUES (1)", "INSERT INTO types (i4) VALUES (NULL)",
            "SELECT 1 FROM", "CREATE TABLE types (i INT)", "USE nowhere", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'gr\u00f6\u00dfe', MYSQL_ERRNO = 30001",
            "SELECT (SELECT 1 UNION SELECT 2)", "KILL 4294967295", "",
        )
    ]
    out.append(query(c, "SHOW WARNINGS"))
    query(c, "SELECT 1")
    return "; ".join(out)

@check
def error_in_the_middle(c):
    query(c, "CREATE TABLE mid (i INT PRIMARY KEY, x DOUBLE)")
    query(c, "INSERT INTO mid VALUES (1, 1), (2, 2), (3, 1000)")
    return fails(lambda: query(c, "SELECT i, EXP(x) FROM mid ORDER BY i")) + query(c, "SELECT 'next'")

@check
def warnings(c):
    query(c, "SET SESSION sql_mode = ''")
    with c.cursor() as cur:
        cur.execute("CREATE TABLE wn (i TINYINT)")
        cur.execute("INSERT INTO wn VALUES (1000), ('x')")
        count = c.warning_count() if NATIVE else c._result.warning_count
        cur.execute("SHOW WARNINGS")
        first = every(cur)
        cur.execute("SHOW WARNINGS LIMIT 1")
        first += every(cur)
        cur.execute("SHOW COUNT(*) WARNINGS")
        first += every(cur)
        cur.execute("SELECT @@warning_count, @@error_count")
        first += every(cur)
        cur.execute("SELECT CAST('abc' AS SIGNED), 1/0")
        first += every(cur)
        cur.execute("SHOW WARNINGS")
    return "%s %s %s" % (count, first, every(cur))

@check
def insert_ids(c):
    out = []
    with c.cursor() as cur:
        cur.execute("CREATE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)")
        for sql in (
            "INSERT INTO ids (v) VALUES (1)", "INSERT INTO ids (v) VALUES (2), (3)", "INSERT INTO ids (v) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 1",
            "UPDATE ids SET v = 20 WHERE v = 2", "SELECT LAST_INSERT_ID()", "UPDATE ids SET id = LAST_INSERT_ID(id + 100) WHERE v = 3", "SELECT LAST_INSERT_ID(), ROW_COUNT()",
            "INSERT INTO ids VALUES (500, 500)", "SELECT LAST_INSERT_ID()", "REPLACE INTO ids VALUES (501, 500)", "DELETE FROM ids", "SELECT 1 FROM ids", "SELECT ROW_COUNT()",
        ):
            cur.execute(sql)
            out.append("%s/%s %s" % (cur.rowcount, cur.lastrowid, every(cur) if cur.description else ""))
    c.commit()
    return "; ".join(out)

@check
def found_rows(c):
    query(c, "CREATE TABLE fr (i INT)")
    query(c, "INSERT INTO fr VALUES (1), (1), (1)")
    c.commit()
    out = []
    for flag in (0, CLIENT.FOUND_ROWS):
        o = connect(client_flag=flag)
        with o.cursor() as cur:
            cur.execute("UPDATE fr SET i = 1")
            out.append(cur.rowcount)
            o.commit()
            cur.execute("SELECT SQL_CALC_FOUND_ROWS i FROM fr LIMIT 1")
            cur.execute("SELECT FOUND_ROWS()")
            out.append(every(cur))
    return repr(out)

@check
def streaming(c):
    query(c, "CREATE TABLE st (i INT PRIMARY KEY, t VARCHAR(100))")
    with c.cursor() as cur:
        cur.executemany("INSERT INTO st VALUES (%s, %s)", [(i, "row %d" % i) for i in range(10000)])
        inserted = cur.rowcount
    c.commit()
    with c.cursor(cursors.SSCursor) as cur:
        cur.execute("SELECT * FROM st ORDER BY i")
        first, some = cur.fetchone(), cur.fetchmany(5000)
        rest = sum(1 for _ in cur)
        again = fails(lambda: cur.fetchone())
    with c.cursor(cursors.SSDictCursor) as cur:
        cur.execute("SELECT * FROM st ORDER BY i")
        second = cur.fetchone()
    return "%s %s %s %s %s %s %s" % (inserted, first, len(some), rest, again, second, query(c, "SELECT 'after'"))

@check
def session_state(c):
    o = connect()
    query(c, "SET @a = 1, @b = 'zwei', SESSION sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES', time_zone = '+03:00', group_concat_max_len = 5000")
    query(c, "CREATE TEMPORARY TABLE tmp (i INT)")
    query(c, "INSERT INTO tmp VALUES (1), (2)")
    query(c, "SELECT GET_LOCK('clients', 5)")
    out = []
    for _ in range(3):
        out.append(query(o, "SELECT @a, @b, @@group_concat_max_len, IS_FREE_LOCK('clients')"))
        out.append(fails(lambda: query(o, "SELECT * FROM tmp")))
        out.append(query(c, 'SELECT @a, @b, @@group_concat_max_len, @@time_zone, i AS "q" FROM tmp'))
    out.append(query(c, "SELECT RELEASE_LOCK('clients')"))
    query(c, "PREPARE s FROM 'SELECT ? + @a'")
    out.append(query(c, "EXECUTE s USING @a") + query(c, "DEALLOCATE PREPARE s") + fails(lambda: query(c, "EXECUTE s")))
    return "; ".join(out)

@check
def lock_tables(c):
    query(c, "CREATE TABLE lt (i INT)")
    query(c, "LOCK TABLES lt WRITE")
    out = fails(lambda: query(c, "SELECT * FROM types")) + query(c, "SELECT * FROM lt")
    query(c, "UNLOCK TABLES")
    return out + query(c, "SELECT COUNT(*) FROM lt")

@check
def ping_and_info(c):
    c.ping()
    stat = c.stat() if NATIVE else ""
    if not NATIVE:
        c.ping(reconnect=True)
    if NATIVE:
        assert stat.startswith("Uptime: "), stat
    own = query(c, "SELECT CONNECTION_ID()") == "((%d))" % c.thread_id()
    return "%s %s %s %s" % (own, c.get_server_info(), c.get_proto_info(), query(c, "SELECT VERSION() LIKE '%%.%%'", ()))

@check
def change_user(c):
    if not NATIVE:
        return "the client cannot"
    query(c, "SET @a = 1")
    query(c, "CREATE TEMPORARY TABLE cu (i INT)")
    c.change_user(env["CLIENTS_OTHER_USER"], env["CLIENTS_OTHER_PASSWORD"], env["CLIENTS_DATABASE"])
    out = query(c, "SELECT CURRENT_USER(), DATABASE(), @a") + fails(lambda: query(c, "SELECT * FROM cu"))
    c.change_user(env["CLIENTS_USER"], env["CLIENTS_PASSWORD"], "")
    out += query(c, "SELECT CURRENT_USER(), DATABASE()")
    return out + fails(lambda: c.change_user(env["CLIENTS_USER"], "wrong", ""))

@check
def kill(c):
    o = connect()
    victims = []

    def sleep(name, conn):
        victims.append("%s: %s" % (name, fails(lambda: query(conn, "SELECT SLEEP(60), '%s'" % name))))

    for name, word in (("query", "QUERY"), ("connection", "")):
        victim = connect()
        number = victim.thread_id()
        t = threading.Thread(target=sleep, args=(name, victim))
        t.start()
        waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60), ''%s''%%'" % name
        while query(o, waiting) != "((1))":
            pass
        query(o, "KILL %s %d" % (word, number))
        t.join(30)
        victims.append(fails(lambda: query(victim, "SELECT 'lives'")))
    return "; ".join(victims)

@check
def kill_method(c):
    if not hasattr(c, "kill"):
        return "the client cannot"
    victim = connect()
    refused = fails(lambda: c.kill(victim.thread_id()))
    if "no error" not in refused:
        return refused  # COM_PROCESS_KILL is gone from MySQL
    while "no error" in fails(lambda: query(victim, "SELECT 1")):
        pass
    return "ended"

@check
def many_connections(c):
    out = []

    def work(i):
        o = connect()
        query(o, "SET @n = %s", (i,))
        query(o, "USE " + (env["CLIENTS_DATABASE"] if i % 2 else "information_schema"))
        for j in range(20):
            got = query(o, "SELECT @n, DATABASE() = 'information_schema', %s", (j,))
            if got != "((%d, %d, %d))" % (i, i % 2 == 0, j):
                out.append(got)
        o.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return repr(out)

@check
def execute_many(c):
    with c.cursor() as cur:
        cur.execute("CREATE TABLE em (i INT, b BLOB)")
        n = cur.executemany("INSERT INTO em (i, b) VALUES (%s, %s)", [(i, os.urandom(1) * i) for i in range(3000)])
        m = cur.executemany("UPDATE em SET b = '' WHERE i = %s", [(i,) for i in range(1, 200)])
        c.commit()
        cur.execute("SELECT COUNT(*), SUM(LENGTH(b)) FROM em")
        return "%s %s %s" % (n, m, every(cur))

@check
def hints_and_comments(c):
    return "".join(
        query(c, s)
        for s in ("/* a */ SELECT 1 -- b", "# c\nSELECT 2", "SELECT /*+ MAX_EXECUTION_TIME(1000) */ 3", "SELECT /*!40000 4 + */ 4", "(SELECT 5)", "VALUES ROW(6)" if env["CLIENTS_FLAVOR"] == "mysql" else "VALUES (6)")
    )

def main():
    for f in CHECKS:
        try:
            c = connect()
            try:
                detail = f(c)
            finally:
                c.close()
            print("ok %s: %s" % (f.__name__, str(detail).encode("unicode_escape").decode()))
        except Exception as e:
            print("not ok %s: %s: %s" % (f.__name__, type(e).__name__, str(e).encode("unicode_escape").decode()))
        sys.stdout.flush()


main()
