// Checks of the mariadb connector: node mariadb.js. Prints a line
// "ok NAME: DETAIL" or "not ok NAME: WHY" for each.
'use strict';
const { Readable } = require('stream');
const mariadb = require('mariadb');
const { env, mode, ca, brief, fails, big, types, sleeping, run } = require('./common.js');

const options = (over = {}) => ({
  host: env('HOST'), port: +env('PORT'), user: env('USER'), password: env('PASSWORD'), database: env('DATABASE'),
  timezone: 'Z', rowsAsArray: true, ssl: mode === 'tls' ? { ca: ca() } : undefined, compress: mode === 'compressed',
  allowPublicKeyRetrieval: true, permitLocalInfile: true, bulk: true, connectTimeout: 20000, ...over,
});
const login = (over) => mariadb.createConnection(options(over));
const rows = async (c, sql, args) => brief(await c.query(sql, args));
const head = (r) => (Array.isArray(r) ? brief(r) : `${r.affectedRows}/${r.insertId}/${r.warningStatus}`);
const columns = (meta) => meta.map((f) => [f.name(), f.orgName(), f.table(), f.orgTable(), f.schema(), f.columnType, f.flags, f.scale, f.columnLength, f.type].join('/')).join(' ');

const checks = {
  login: async (c) => (await rows(c, 'SELECT CURRENT_USER(), DATABASE(), @@character_set_client, @@collation_connection')) + c.serverVersion(),
  login_refused: async () => [
    await fails(() => login({ password: 'wrong' })), await fails(() => login({ user: 'nobody' })), await fails(() => login({ password: '' })), await fails(() => login({ database: 'nowhere' })),
  ].join('; '),
  login_options: async () => {
    const o = await login({ database: undefined, collation: 'LATIN1_SWEDISH_CI', foundRows: false, initSql: ['SET @a = 1', 'SET @b = 2'], sessionVariables: { group_concat_max_len: 4000 }, connectAttributes: { program_name: 'checks' } });
    return rows(o, 'SELECT DATABASE(), @@character_set_client, @a, @b, @@group_concat_max_len');
  },
};

for (const [way, call, over] of [['text', 'query', {}], ['prepared', 'execute', {}], ['not_pipelined', 'execute', { pipelining: false }]]) {
  const ask = (c, sql, args) => c[call](sql, args);
  Object.assign(checks, {
    [`types_${way}`]: async () => {
      const c = await login(over);
      const t = types('größe 🐬 \'"\\\0\n');
      await c.query(`CREATE TABLE types_${way} (${t.map((x) => x[0]).join(', ')})`);
      const out = [head(await ask(c, `INSERT INTO types_${way} VALUES (${t.map(() => '?').join(', ')})`, t.map((x) => x[1])))];
      out.push(head(await ask(c, `INSERT INTO types_${way} (i4) VALUES (?)`, [2])));
      const r = await ask(c, { sql: `SELECT * FROM types_${way} WHERE i4 >= ? ORDER BY i4`, metaAsArray: true }, [0]);
      out.push(brief(r[0]), columns(r[1]));
      for (const style of [{ dateStrings: true, bigIntAsNumber: true, decimalAsNumber: true }, { rowsAsArray: false, nestTables: true }, { typeCast: (f, next) => (f.type === 'INT' ? f.string() : next()) }]) {
        out.push(brief(await ask(c, { sql: `SELECT * FROM types_${way}`, ...style })));
      }
      return out.join('; ');
    },
    [`big_values_${way}`]: async () => {
      const c = await login(over);
      await c.query(`CREATE TABLE big_${way} (id INT PRIMARY KEY, b LONGBLOB)`);
      await ask(c, `INSERT INTO big_${way} VALUES (1, ?)`, [big]);
      const out = [await rows(c, `SELECT b, 'after' FROM big_${way}`)];
      for (const n of [-13, -1, 0]) {
        out.push(brief(await ask(c, 'SELECT ?, LENGTH(?)', ['x'.repeat(7), 'y'.repeat((1 << 24) + n)])), brief(await ask(c, "SELECT REPEAT('z', ?), 1", [(1 << 24) + n])));
      }
      return out.join(' ');
    },
    [`null_and_reuse_${way}`]: async () => {
      const c = await login(over);
      const out = [];
      for (const args of [[1, 'a', null], [null, null, null], [1.5, '', 'x\0y'], [true, 'ü'.repeat(150), Buffer.from([0, 255])], [-(2 ** 40), 7n, false], [2n ** 63n, undefined, 0]]) {
        out.push(await fails(() => ask(c, 'SELECT ?, ?, ?', args)));
      }
      return out.join('; ');
    },
    [`procedure_${way}`]: async () => {
      const c = await login(over);
      await c.query(`CREATE PROCEDURE p_${way} (IN a INT, OUT b INT, INOUT d VARCHAR(20)) BEGIN SELECT a; SELECT a + 1, 'x'; INSERT INTO types_${way} (i4) VALUES (1000 + a); SET b = a * 2, d = CONCAT(d, '!'); END`);
      await c.query("SET @d = 'hi'");
      const out = [(await ask(c, `CALL p_${way}(?, @b, @d)`, [21])).map(head).join(' '), await rows(c, 'SELECT @b, @d')];
      if (way !== 'text') {
        out.push(await fails(async () => (await ask(c, `CALL p_${way}(?, ?, ?)`, [22, null, 'out'])).map(head)));
      }
      return out.join('; ');
    },
    [`insert_ids_${way}`]: async () => {
      const c = await login(over);
      await c.query(`CREATE TABLE ids_${way} (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)`);
      const out = [];
      for (const sql of ['INSERT INTO T (v) VALUES (1)', 'INSERT INTO T (v) VALUES (2), (3)', 'INSERT INTO T (v) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 1', 'UPDATE T SET v = v',
        'UPDATE T SET v = v + 100', 'UPDATE T SET id = LAST_INSERT_ID(id + 100) WHERE v = 103', 'REPLACE INTO T VALUES (9, 101)', 'DELETE FROM T', 'SELECT ROW_COUNT(), LAST_INSERT_ID()']) {
        out.push(head(await ask(c, sql.replace(/\bT\b/, `ids_${way}`))));
      }
      if (env('FLAVOR') === 'mariadb') {
        out.push(head(await ask(c, `INSERT INTO ids_${way} (v) VALUES (?), (?) RETURNING *`, [70, 71])));
      }
      return out.join('; ');
    },
    [`errors_${way}`]: async () => {
      const c = await login(over);
      await c.query(`CREATE TABLE er_${way} (i INT PRIMARY KEY)`);
      await c.query(`INSERT INTO er_${way} VALUES (1)`);
      const out = [];
      for (const sql of ['SELEC 1', 'SELECT * FROM nowhere', 'SELECT nothing', `INSERT INTO er_${way} VALUES (1)`, 'SELECT EXP(i * 1000) FROM (SELECT 0 AS i UNION ALL SELECT 1) t', "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ö', MYSQL_ERRNO = 30001",
        'SELECT 1; SELECT 2', 'USE nowhere', 'KILL 4294967295', '', '-- nothing']) {
        out.push(await fails(() => ask(c, sql)));
      }
      return out.join('; ') + (await rows(c, 'SELECT 1'));
    },
    [`pipelined_${way}`]: async () => {
      const c = await login(over);
      const all = [];
      for (let i = 0; i < 300; i++) all.push(ask(c, i % 3 ? 'SELECT ? + 0' : `SELECT ? + ${i} - ${i}`, [i]));
      all.push(fails(() => ask(c, 'SELECT * FROM nowhere')), c.ping(), ask(c, 'SELECT 7'));
      const got = await Promise.all(all);
      return `${got.slice(0, 300).reduce((a, [[n]]) => a + Number(n), 0)} ${got[300]} ${brief(got[302])}`;
    },
    [`batch_${way}`]: async () => {
      const out = [];
      for (const bulk of [true, false]) {
        const c = await login({ ...over, bulk });
        const table = `ba_${way}_${bulk}`;
        await c.query(`CREATE TABLE ${table} (i INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(100), b BLOB, UNIQUE (s))`);
        const values = [...Array(500).keys()].map((i) => [i % 7 ? `text ${i}` : `länger ${i}`, i % 5 ? Buffer.from([i & 255]) : null]);
        out.push(head(await c.batch(`INSERT INTO ${table} (s, b) VALUES (?, ?)`, values)));
        out.push(head(await c.batch(`UPDATE ${table} SET b = ? WHERE i = ?`, [['x', 1], ['y', 2], [null, 3]])));
        out.push(await fails(() => c.batch(`INSERT INTO ${table} (s, b) VALUES (?, ?)`, [['a', null], ['text 1', null], ['b', null]])));
        out.push(await rows(c, `SELECT COUNT(*), MAX(i), MIN(s), SUM(LENGTH(b)), SUM(s IN ('a', 'b')) FROM ${table}`));
        out.push(await fails(() => c.batch('SELECT ? + 1', [[1], [2], [3]])));
        await c.end();
      }
      return out.join('; ');
    },
    [`transactions_${way}`]: async () => {
      const [c, o] = [await login(over), await login()];
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
      return out.join('; ');
    },
  });
}

Object.assign(checks, {
  multi_statements: async () => {
    const c = await login({ multipleStatements: true });
    const r = await c.query("SELECT 1; CREATE TABLE multi (i INT); INSERT INTO multi VALUES (?),(2); SELECT * FROM multi; UPDATE multi SET i = 9; DO 1; SELECT 'last'", [1]);
    return r.map(head).join('; ') + (await fails(() => c.query('SELECT 1; SELECT * FROM nowhere; SELECT 3'))) + (await rows(c, "SELECT 'next'"));
  },
  many_prepared: async () => {
    const c = await login({ prepareCacheLength: 20 });
    let sum = 0;
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 200; i++) sum += Number((await c.execute(`SELECT ${i} + ?`, [round]))[0][0]);
    }
    const all = await Promise.all([...Array(300).keys()].map((i) => c.prepare(`SELECT ?, ${i}`)));
    const got = await Promise.all(all.map((s) => s.execute([1])));
    all.forEach((s) => s.close());
    return `${sum} ${got.reduce((a, [[, n]]) => a + Number(n), 0)} ` + (await rows(c, "SELECT 'next'"));
  },
  prepared: async (c) => {
    const s = await c.prepare('SELECT ?, ?');
    const out = [s.parameterCount, brief(await s.execute([1, 'a'])), brief(await s.execute([null, Buffer.from('b')])), await fails(() => s.execute([1]))];
    let n = 0;
    for await (const row of s.executeStream([1, 2])) n += row.length;
    s.close();
    return out.join(' ') + n;
  },
  column_charsets: async (c) => (await c.query({ sql: 'SELECT * FROM types_text', metaAsArray: true }))[1].map((f) => f.collation.name).join(' '),
  prepared_and_changes: async (c) => {
    await c.query('CREATE TABLE pc (a INT)');
    await c.query('INSERT INTO pc VALUES (1)');
    const out = [brief(await c.execute('SELECT * FROM pc'))];
    await c.query("ALTER TABLE pc ADD b VARCHAR(9) DEFAULT 'new'");
    out.push(brief(await c.execute('SELECT * FROM pc')));
    await c.query('DROP TABLE pc');
    out.push(await fails(() => c.execute('SELECT * FROM pc')));
    return out.join(' ');
  },
  stream: async (c) => {
    let n = 0, sum = 0;
    const sql = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i, b.i, REPEAT("z", 50) FROM n a, n b WHERE b.i <= 50';
    for await (const row of c.queryStream(sql)) {
      n++;
      sum += Number(row[0]) * Number(row[1]);
    }
    return `${n} ${sum} ` + (await rows(c, "SELECT 'next'"));
  },
  load_local: async (c) => {
    await c.query('CREATE TABLE ld (i INT, s VARCHAR(100))');
    const lines = function* () {
      for (let i = 0; i < 50; i++) yield Buffer.from([...Array(1000).keys()].map((j) => `${i * 1000 + j}\tline ${i}\n`).join(''));
    };
    const r = await c.query({ sql: "LOAD DATA LOCAL INFILE 'a name' INTO TABLE ld", infileStreamFactory: () => Readable.from(lines()) });
    return [head(r), await rows(c, 'SELECT COUNT(*), SUM(i), MAX(s) FROM ld'), await fails(() => c.query("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE ld")), await rows(c, "SELECT 'next'")].join('; ');
  },
  warnings: async (c) => {
    await c.query("SET SESSION sql_mode = ''");
    await c.query('CREATE TABLE wn (i TINYINT)');
    const r = await c.query("INSERT INTO wn VALUES (1000), ('x')");
    return head(r) + (await rows(c, 'SHOW WARNINGS')) + (await rows(c, 'SELECT @@warning_count'));
  },
  found_rows: async (c) => {
    await c.query('CREATE TABLE fr (i INT)');
    await c.query('INSERT INTO fr VALUES (1), (1), (1)');
    const o = await login({ foundRows: false });
    return head(await c.query('UPDATE fr SET i = 1')) + ' ' + head(await o.query('UPDATE fr SET i = 1'));
  },
  session_state: async (c) => {
    const o = await login();
    const out = [];
    await c.query("SET @a = 1, @b = 'zwei', SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'");
    await c.query('CREATE TEMPORARY TABLE tmp (i INT)');
    for (let i = 0; i < 3; i++) {
      await c.execute('INSERT INTO tmp VALUES (?)', [i]);
      out.push(brief(await c.execute('SELECT @a, @b, @@time_zone, COUNT(*) AS "n" FROM tmp')), await rows(o, 'SELECT @a, @b, @@sql_mode = "ANSI_QUOTES"'), await fails(() => o.execute('SELECT * FROM tmp')));
    }
    return out.join('; ');
  },
  change_user: async (c) => {
    if (env('FLAVOR') === 'mysql') return fails(() => c.changeUser({ user: env('OTHER_USER') })); // the driver has it for MariaDB only
    await c.query('SET @a = 1');
    await c.execute('SELECT 1');
    await c.changeUser({ user: env('OTHER_USER'), password: env('OTHER_PASSWORD'), database: env('DATABASE') });
    const out = [await rows(c, 'SELECT CURRENT_USER(), DATABASE(), @a')];
    await c.changeUser({ user: env('USER'), password: env('PASSWORD') });
    out.push(await rows(c, 'SELECT CURRENT_USER(), DATABASE()'), await fails(() => c.changeUser({ user: env('USER'), password: 'wrong' })));
    return out.join('; ');
  },
  reset: async (c) => {
    await c.query('SET @a = 1');
    await c.query('CREATE TEMPORARY TABLE rt (i INT)');
    const out = [brief(await c.execute('SELECT @a'))];
    await c.reset();
    out.push(await fails(() => c.query('SELECT * FROM rt')), await rows(c, 'SELECT @a, DATABASE(), @@character_set_client'), brief(await c.execute('SELECT @a')));
    return out.join('; ');
  },
  ping_and_kill: async (c) => {
    await c.ping();
    const victim = await login();
    const slow = fails(() => victim.query("SELECT SLEEP(60), 'killed'"));
    await sleeping(c);
    await c.query(`KILL QUERY ${victim.threadId}`);
    const out = [await slow, await rows(victim, "SELECT 'lives'")];
    const ended = fails(() => victim.query("SELECT SLEEP(60), 'killed'"));
    await sleeping(c);
    await c.query(`KILL ${victim.threadId}`);
    out.push(await ended, brief(BigInt(c.threadId) === BigInt((await c.query('SELECT CONNECTION_ID()'))[0][0])));
    return out.join('; ');
  },
  timeout: async (c) => {
    return fails(() => c.query({ sql: 'SELECT SLEEP(60)', timeout: 100 }));
  },
  pool: async () => {
    const pools = [5, 1].map((connectionLimit) => mariadb.createPool(options({ connectionLimit, resetAfterUse: true, minDelayValidation: 0 })));
    const [pool, single] = pools; // of one connection it is certain which one comes back
    const got = await Promise.all([...Array(100).keys()].map((i) => (i % 2 ? pool.query('SELECT ?', [i]) : pool.execute('SELECT ? + 0', [i]))));
    const own = await single.getConnection();
    await own.query('SET @mine = 1');
    const out = [got.reduce((a, [[n]]) => a + Number(n), 0), await rows(own, 'SELECT @mine')];
    await own.release();
    await pool.query('CREATE TABLE po (i INT)');
    out.push(head(await pool.batch('INSERT INTO po VALUES (?)', [...Array(100).keys()].map((i) => [i]))), brief(await single.query('SELECT @mine')));
    await Promise.all(pools.map((p) => p.end()));
    return out.join(' ');
  },
  many_connections: async () => {
    const wrong = [];
    await Promise.all([...Array(40).keys()].map(async (i) => {
      const o = await login({ database: i % 2 ? env('DATABASE') : 'information_schema', bigIntAsNumber: true });
      await o.query('SET @n = ?', [i]);
      for (let j = 0; j < 10; j++) {
        const got = brief(await o.execute("SELECT @n, DATABASE() = 'information_schema', ?", [j]));
        if (got !== `[[${i}, ${i % 2 ? 0 : 1}, ${j}]]`) wrong.push(got);
      }
      await o.end();
    }));
    return brief(wrong);
  },
});

run(login, checks).then(() => process.exit(0));
