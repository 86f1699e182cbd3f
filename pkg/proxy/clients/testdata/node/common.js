// What the checks of both drivers share. A check is a function that gets a
// connection and returns its detail; what it returns must depend on the server
// only, not on the moment or the connection.
'use strict';
const crypto = require('crypto');
const fs = require('fs');

const env = (name) => process.env['CLIENTS_' + name];
exports.env = env;
exports.mode = env('MODE');
exports.ca = () => fs.readFileSync(env('CA'));

const sha1 = (v) => crypto.createHash('sha1').update(v).digest('hex');

const brief = (v) => {
  if (v === undefined) return 'undefined';
  if (v === null) return 'null';
  if (Buffer.isBuffer(v)) return v.length > 100 ? `Buffer[${v.length}] ${sha1(v)}` : `Buffer(${v.toString('hex')})`;
  if (v instanceof Date) return `Date(${isNaN(v) ? 'invalid' : v.toISOString()})`;
  if (Array.isArray(v)) return '[' + v.map(brief).join(', ') + ']';
  if (typeof v === 'bigint') return `${v}n`;
  if (typeof v === 'string') return v.length > 200 ? `string[${v.length}] ${sha1(v)}` : JSON.stringify(v);
  if (typeof v === 'object') return '{' + Object.keys(v).map((k) => k + ': ' + brief(v[k])).join(', ') + '}';
  return String(v);
};
exports.brief = brief;

exports.fails = async (f) => {
  try {
    return 'no error: ' + brief(await f());
  } catch (e) {
    return `${e.code} ${e.errno} ${e.sqlState} ${(e.sqlMessage || e.message || '').split('\n')[0]}`;
  }
};

exports.big = Buffer.alloc(20 << 20, '0123456789abcdef');

// A column, and the value that a row has in it.
exports.types = (unicode) => [
  ['i1 TINYINT', -128], ['u1 TINYINT UNSIGNED', 255], ['i4 INT NOT NULL PRIMARY KEY', 1], ['i8 BIGINT', '-9007199254740991'],
  ['u8 BIGINT UNSIGNED', '18446744073709551615'], ['d DECIMAL(30,10)', '-12345678901234567890.0123456789'], ['f FLOAT', 1.5], ['g DOUBLE', 1e300],
  ['b BIT(12)', Buffer.from([0x0f, 0xff])], ['y YEAR', 2026], ['dd DATE', '2026-11-30'], ['tt TIME(3)', '-838:59:58.123'], ['dt DATETIME(6)', '2026-11-30 23:59:59.999999'],
  ['ts TIMESTAMP NULL', new Date(Date.UTC(2001, 1, 3, 4, 5, 6))], ['c CHAR(5)', 'ab'], ['v VARCHAR(40)', unicode], ['vb VARBINARY(300)', Buffer.from([...Array(256).keys()])],
  ['tx TEXT', 'text'], ['bl BLOB', Buffer.from([0xff, 0xfe])], ["e ENUM('a','b')", 'b'], ["s SET('x','y','z')", 'x,z'], ['z INT ZEROFILL', 42],
  ['j JSON', '{"k": [1, null]}'], ['n INT', null], ['bo BOOLEAN', true],
];

// sleeping waits until a server runs the statement that the checks kill.
exports.sleeping = async (c) => {
  for (;;) {
    const rows = await c.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60)%'");
    if ((Array.isArray(rows[0]) ? rows[0] : rows).length === 1) return;
  }
};

// run runs the checks one after the other, each on a connection of its own.
exports.run = async (login, checks) => {
  for (const [name, f] of Object.entries(checks)) {
    let line;
    try {
      const c = await login();
      try {
        line = `ok ${name}: ${await f(c)}`;
      } finally {
        c.destroy();
      }
    } catch (e) {
      line = `not ok ${name}: ${e.stack}`;
    }
    process.stdout.write(line.replace(/\s+/g, ' ') + '\n');
  }
};
