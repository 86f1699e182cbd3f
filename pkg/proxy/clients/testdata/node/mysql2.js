// Checks of mysql2: node mysql2.js. Prints a line "ok NAME: DETAIL" or
// "not ok NAME: WHY" for each.
'use strict';
const { Readable } = require('stream');
const mysql = require('mysql2/promise');
const { env, mode, ca, brief, fails, big, types, sleeping, run } = require('./common.js');

const options = (over = {}) => ({
  host: env('HOST'), port: +env('PORT'), user: env('USER'), password: env('PASSWORD'), database: env('DATABASE'),
  charset: 'utf8mb4', timezone: 'Z', rowsAsArray: true, ssl: mode === 'tls' ? { ca: ca() } : undefined, compress: mode === 'compressed',
  connectTimeout: 20000, ...over,
});
const login = (over) => mysql.createConnection(options(over));
const rows = async (c, sql, args) => brief((await c.query(sql, args))[0]);
const prepared = async (c, sql, args) => brief((await c.execute(sql, args))[0]);
const columns = (fields) => fields.map((f) => [f.name, f.orgName, f.table, f.orgTable, f.schema, f.columnType, f.flags, f.decimals, f.columnLength].join('/')).join(' ');
const head = (r) => (Array.isArray(r) ? brief(r) : `${r.affectedRows}/${r.insertId}/${r.changedRows}/${r.warningStatus}/${r.info}/${r.serverStatus & ~2}`);

const checks = {
  login: async (c) => rows(c, 'SELECT CURRENT_USER(), DATABASE(), @@character_set_client, @@collation_connection'),
  login_refused: async () => [
    await fails(() => login({ password: 'wrong' })), await fails(() => login({ user: 'nobody' })), await fails(() => login({ password: '' })), await fails(() => login({ database: 'nowhere' })),
  ].join('; '),
  login_options: async () => {
    const o = await login({ database: undefined, charset: 'latin1_swedish_ci', flags: ['-FOUND_ROWS', 'IGNORE_SPACE'], connectAttributes: { program_name: 'checks' } });
    return (await rows(o, "SELECT DATABASE(), @@character_set_client, COUNT (*), 'größe'")) + (await fails(() => o.query('SELECT * FROM t')));
  },
};

for (const [way, call] of [['text', 'query'], ['prepared', 'execute']]) {
  const ask = async (c, sql, args) => (await c[call](sql, args))[0];
  Object.assign(checks, {
    [`types_${way}`]: async (c) => {
      const t = types('größe 🐬 \'"\\\0\n');
      await c.query(`CREATE TABLE types_${way} (${t.map((x) => x[0]).join(', ')})`);
      const values = t.map((x) => x[1]);
      const out = [head(await ask(c, `INSERT INTO types_${way} VALUES (${t.map(() => '?').join(', ')})`, values))];
      out.push(head(await ask(c, `INSERT INTO types_${way} (i4) VALUES (?)`, [2])));
      const [r, f] = await c[call](`SELECT * FROM types_${way} WHERE i4 >= ? ORDER BY i4`, [0]);
      out.push(brief(r), columns(f));
      for (const over of [{ dateStrings: true, supportBigNumbers: true, bigNumberStrings: true }, { decimalNumbers: true, rowsAsArray: false, nestTables: '_' }, { typeCast: way === 'prepared' }]) { // the driver cannot read some binary types without
        const o = await login(over);
        out.push(brief(await ask(o, `SELECT * FROM types_${way}`)));
        await o.end();
      }
      return out.join('; ');
    },
    [`big_values_${way}`]: async (c) => {
      await c.query(`CREATE TABLE big_${way} (id INT PRIMARY KEY, b LONGBLOB)`);
      await ask(c, `INSERT INTO big_${way} VALUES (1, ?)`, [big]);
      const out = [brief(await ask(c, `SELECT b, 'after' FROM big_${way}`))];
      for (const n of [-13, -1, 0]) {
        out.push(brief(await ask(c, 'SELECT ?, LENGTH(?)', ['x'.repeat(7), 'y'.repeat((1 << 24) + n)])), brief(await ask(c, "SELECT REPEAT('z', ?), 1", [(1 << 24) + n])));
      }
      return out.join(' ');
    },
    [`null_and_reuse_${way}`]: async (c) => {
      const out = [];
      for (const args of [[1, 'a', null], [null, null, null], [1.5, '', 'x\0y'], [true, 'ü'.repeat(150), Buffer.from([0, 255])], [-(2 ** 40), '7', false]]) {
        out.push(await fails(() => ask(c, 'SELECT ?, ?, ?', args)));
      }
      return out.join('; ');
    },
    [`procedure_${way}`]: async (c) => {
      await c.query(`CREATE PROCEDURE p_${way} (IN a INT, OUT b INT, INOUT d VARCHAR(20)) BEGIN SELECT a; SELECT a + 1, 'x'; INSERT INTO types_${way} (i4) VALUES (1000 + a); SET b = a * 2, d = CONCAT(d, '!'); END`);
      await c.query("SET @d = 'hi'");
      const r = await ask(c, `CALL p_${way}(?, @b, @d)`, [21]);
      return r.map(head).join(' ') + (await rows(c, 'SELECT @b, @d'));
    },
    [`insert_ids_${way}`]: async (c) => {
      await c.query(`CREATE TABLE ids_${way} (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)`);
      const out = [];
      for (const sql of ['INSERT INTO T (v) VALUES (1)', 'INSERT INTO T (v) VALUES (2), (3)', 'INSERT INTO T (v) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 1', 'UPDATE T SET v = v',
        'UPDATE T SET v = v + 100', 'UPDATE T SET id = LAST_INSERT_ID(id + 100) WHERE v = 103', 'REPLACE INTO T VALUES (9, 101)', 'DELETE FROM T', 'SELECT ROW_COUNT(), LAST_INSERT_ID()']) {
        out.push(head(await ask(c, sql.replace(/\bT\b/, `ids_${way}`))));
      }
      return out.join('; ');
    },
    [`errors_${way}`]: async (c) => {
      await c.query(`CREATE TABLE er_${way} (i INT PRIMARY KEY)`);
      await c.query(`INSERT INTO er_${way} VALUES (1)`);
      const out = [];
      for (const sql of ['SELEC 1', 'SELECT * FROM nowhere', 'SELECT nothing', `INSERT INTO er_${way} VALUES (1)`, 'SELECT EXP(i * 1000) FROM (SELECT 0 AS i UNION ALL SELECT 1) t', "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ö', MYSQL_ERRNO = 30001",
        'SELECT 1; SELECT 2', 'USE nowhere', 'KILL 4294967295', '', '-- nothing']) {
        out.push(await fails(() => ask(c, sql)));
      }
      return out.join('; ') + (await rows(c, 'SELECT 1'));
    },
    [`stream_${way}`]: async (c) => {
      let n = 0, sum = 0;
      const sql = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i, b.i, REPEAT("z", 50) FROM n a, n b WHERE b.i <= 50';
      for await (const row of c.connection[call](sql).stream({ highWaterMark: 5 })) {
        n++;
        sum += row[0] * row[1];
      }
      return `${n} ${sum} ` + (await rows(c, "SELECT 'next'"));
    },
    [`transactions_${way}`]: async (c) => {
      const o = await login();
      const out = [];
      await c.query(`CREATE TABLE tx_${way} (i INT PRIMARY KEY)`);
      await c.beginTransaction();
      out.push(head(await ask(c, `INSERT INTO tx_${way} VALUES (1)`)), brief(await ask(o, `SELECT * FROM tx_${way}`)));
      await c.rollback();
      await c.query('SET autocommit = 0');
      await ask(c, `INSERT INTO tx_${way} VALUES (2)`);
      await c.commit();
      out.push(brief(await ask(o, `SELECT * FROM tx_${way}`)));
      await c.query('SET autocommit = 1');
      await c.query('START TRANSACTION READ ONLY');
      out.push(await fails(() => ask(c, `INSERT INTO tx_${way} VALUES (3)`)));
      await c.query('COMMIT');
      await c.query('SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE');
      out.push(brief(await ask(c, `SELECT @@${env('FLAVOR') === 'mysql' ? 'transaction_isolation' : 'tx_isolation'}`)));
      return out.join('; ');
    },
  });
}

Object.assign(checks, {
  multi_statements: async () => {
    const c = await login({ multipleStatements: true });
    const [r] = await c.query("SELECT 1; CREATE TABLE multi (i INT); INSERT INTO multi VALUES (?),(2); SELECT * FROM multi; UPDATE multi SET i = 9; DO 1; SELECT 'last'", [1]);
    return r.map(head).join('; ') + (await fails(() => c.query('SELECT 1; SELECT * FROM nowhere; SELECT 3'))) + (await rows(c, "SELECT 'next'")) + (await fails(() => c.execute('SELECT 1; SELECT 2')));
  },
  queued: async (c) => {
    const all = [];
    for (let i = 0; i < 300; i++) all.push(i % 2 ? c.query('SELECT ?', [i]) : c.execute('SELECT ? + 0', [i]));
    all.push(fails(() => c.query('SELECT * FROM nowhere')), c.ping(), c.query('SELECT 7'));
    const got = await Promise.all(all);
    return `${got.slice(0, 300).reduce((a, [[[n]]]) => a + +n, 0)} ${got[300]} ${brief(got[302][0])}`;
  },
  many_prepared: async () => {
    const c = await login({ maxPreparedStatements: 50 });
    let sum = 0;
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 300; i++) sum += (await c.execute(`SELECT ${i} + ?`, [round]))[0][0][0];
    }
    const all = [];
    const o = await login();
    for (let i = 0; i < 500; i++) all.push(await o.prepare(`SELECT ?, ${i}`));
    for (const s of all.reverse()) {
      sum += (await s.execute([1]))[0][0][1];
      await s.close();
    }
    return sum;
  },
  prepared_and_changes: async (c) => {
    await c.query('CREATE TABLE pc (a INT)');
    await c.query('INSERT INTO pc VALUES (1)');
    const out = [await prepared(c, 'SELECT * FROM pc')];
    await c.query("ALTER TABLE pc ADD b VARCHAR(9) DEFAULT 'new'");
    out.push(await prepared(c, 'SELECT * FROM pc'));
    await c.query('DROP TABLE pc');
    out.push(await fails(() => c.execute('SELECT * FROM pc')));
    return out.join(' ');
  },
  load_local: async (c) => {
    await c.query('CREATE TABLE ld (i INT, s VARCHAR(100))');
    const lines = function* () {
      for (let i = 0; i < 50; i++) yield Buffer.from([...Array(1000).keys()].map((j) => `${i * 1000 + j}\tline ${i}\n`).join(''));
    };
    const [r] = await c.query({ sql: "LOAD DATA LOCAL INFILE 'a name' INTO TABLE ld", infileStreamFactory: () => Readable.from(lines()) });
    const [e] = await c.query({ sql: "LOAD DATA LOCAL INFILE 'a name' INTO TABLE ld", infileStreamFactory: () => Readable.from([]) });
    return [head(r), head(e), await rows(c, 'SELECT COUNT(*), SUM(i), MAX(s) FROM ld'), await fails(() => c.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE ld"))].join('; ');
  },
  warnings: async (c) => {
    await c.query("SET SESSION sql_mode = ''");
    await c.query('CREATE TABLE wn (i TINYINT)');
    const [r] = await c.query("INSERT INTO wn VALUES (1000), ('x')");
    return head(r) + (await rows(c, 'SHOW WARNINGS')) + (await rows(c, 'SELECT @@warning_count'));
  },
  found_rows: async (c) => {
    await c.query('CREATE TABLE fr (i INT)');
    await c.query('INSERT INTO fr VALUES (1), (1), (1)');
    const o = await login({ flags: ['-FOUND_ROWS'] });
    return head((await c.query('UPDATE fr SET i = 1'))[0]) + ' ' + head((await o.query('UPDATE fr SET i = 1'))[0]);
  },
  charsets: async (c) => {
    const out = [];
    for (const name of ['LATIN1_SWEDISH_CI', 'CP1251_GENERAL_CI', 'UTF8MB4_UNICODE_520_CI']) {
      await c.changeUser({ charset: name });
      out.push(await rows(c, "SELECT @@character_set_client, @@collation_connection, HEX('a')"));
    }
    const o = await login({ charset: 'SJIS_JAPANESE_CI' });
    return out.join(' ') + (await rows(o, "SELECT @@collation_connection, 'ソ', HEX('ソ')"));
  },
  session_state: async (c) => {
    const o = await login();
    const out = [];
    await c.query("SET @a = 1, @b = 'zwei', SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'");
    await c.query('CREATE TEMPORARY TABLE tmp (i INT)');
    for (let i = 0; i < 3; i++) {
      await c.execute('INSERT INTO tmp VALUES (?)', [i]);
      out.push(await prepared(c, 'SELECT @a, @b, @@time_zone, COUNT(*) AS "n" FROM tmp'), await rows(o, 'SELECT @a, @b, @@sql_mode = "ANSI_QUOTES"'), await fails(() => o.execute('SELECT * FROM tmp')));
    }
    return out.join('; ');
  },
  change_user: async (c) => {
    await c.query('SET @a = 1');
    await c.execute('SELECT 1');
    await c.query('CREATE TEMPORARY TABLE cu (i INT)');
    await c.changeUser({ user: env('OTHER_USER'), password: env('OTHER_PASSWORD'), database: env('DATABASE') });
    const out = [await rows(c, 'SELECT CURRENT_USER(), DATABASE(), @a'), await fails(() => c.query('SELECT * FROM cu'))];
    await c.changeUser({ user: env('USER'), password: env('PASSWORD') });
    out.push(await rows(c, 'SELECT CURRENT_USER(), DATABASE()'), await fails(() => c.changeUser({ user: env('USER'), password: 'wrong' })));
    return out.join('; ');
  },
  reset: async (c) => {
    await c.query('SET @a = 1, SESSION sql_mode = DEFAULT');
    await c.query('CREATE TEMPORARY TABLE rt (i INT)');
    const out = [await prepared(c, 'SELECT @a')];
    await c.reset();
    out.push(await fails(() => c.query('SELECT * FROM rt')), await rows(c, 'SELECT @a, DATABASE(), @@character_set_client'), await prepared(c, 'SELECT @a'));
    return out.join('; ');
  },
  ping_and_kill: async (c) => {
    await c.ping();
    const victim = await login();
    const slow = fails(() => rows(victim, "SELECT SLEEP(60), 'killed'"));
    await sleeping(c);
    await c.query(`KILL QUERY ${victim.threadId}`);
    const out = [await slow, await rows(victim, "SELECT 'lives'")];
    const ended = fails(() => victim.query("SELECT SLEEP(60), 'killed'"));
    await sleeping(c);
    await c.query(`KILL ${victim.threadId}`);
    out.push(await ended, brief(c.threadId === (await c.query('SELECT CONNECTION_ID()'))[0][0][0]));
    return out.join('; ');
  },
  timeout: async (c) => {
    return fails(() => c.query({ sql: 'SELECT SLEEP(60)', timeout: 100 }));
  },
  pool: async () => {
    const pool = mysql.createPool(options({ connectionLimit: 5, maxIdle: 2 }));
    const got = await Promise.all([...Array(100).keys()].map((i) => (i % 2 ? pool.query('SELECT ?', [i]) : pool.execute('SELECT ? + 0', [i]))));
    const own = await pool.getConnection();
    await own.query('SET @mine = 1');
    const out = [got.reduce((a, [[[n]]]) => a + +n, 0), await rows(own, 'SELECT @mine')];
    own.release();
    await pool.end();
    return out.join(' ');
  },
  many_connections: async () => {
    const wrong = [];
    await Promise.all([...Array(40).keys()].map(async (i) => {
      const o = await login({ database: i % 2 ? env('DATABASE') : 'information_schema' });
      await o.query('SET @n = ?', [i]);
      for (let j = 0; j < 10; j++) {
        const got = await prepared(o, "SELECT @n, DATABASE() = 'information_schema', ?", [j]);
        if (got !== `[[${i}, ${i % 2 ? 0 : 1}, ${j}]]`) wrong.push(got);
      }
      await o.end();
    }));
    return brief(wrong);
  },
  column_charsets: async (c) => (await c.query('SELECT * FROM types_text'))[1].map((f) => f.characterSet).join(' '),
  wide: async (c) => {
    const [r, f] = await c.query('SELECT ' + [...Array(2000).keys()].map((i) => `${i} AS \`column ${i}\``).join(','));
    const [p] = await c.execute('SELECT ' + Array(1000).fill('?').join(','), [...Array(1000).keys()]);
    return `${r[0].length} ${f[1999].name} ${p[0].length} ${p[0][999]}`;
  },
});

run(login, checks).then(() => process.exit(0));
