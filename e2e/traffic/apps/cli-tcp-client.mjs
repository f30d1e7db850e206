// Does the exchanges of the TCP corpus with command-line programs: cli-tcp-client.mjs KIND PROGRAM KEYS
import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { digest, runExchanges } from './exchanges.mjs'

const [, , kind, program, keys] = process.argv
const LARGE_BYTES = 1024 * 1024
const certificate = join(keys, 'tls.crt')
// Clients beside the mesh and through it use one server at the same time.
const own = `cli_${process.pid}_${Date.now()}`
const folder = mkdtempSync(join(tmpdir(), 'osm-ts-cli-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** Runs the program and tells how it ended. */
async function run(args, { input = '', env = {} } = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [code, output, complaints] = await Promise.all([ended, buffer(child.stdout), buffer(child.stderr)])
  return { code, output, complaints: complaints.toString() }
}

/** Code of ssh for a fault of its own; only its complaints tell which. */
const SSH_FAULT = 255
const outcome = ({ code, output, complaints }) => ({
  code,
  output: output.toString(),
  ...(code === SSH_FAULT && { complaints }),
})
const size = ({ code, output }) => ({ code, ...digest(output) })

const kinds = {
  psql: ({ host, port }) => {
    const sql = (text, { password = 'corpus', sslmode = 'disable' } = {}) => {
      const connection = `host=${host} port=${port} user=corpus dbname=postgres sslmode=${sslmode} sslrootcert=${certificate}`
      return run(['-X', '-A', '-t', '-q', '-d', connection], { input: text, env: { PGPASSWORD: password } })
    }
    return {
      query: async () => outcome(await sql('select 1 + 1, version();')),
      prepared: async () =>
        outcome(await sql("prepare twice as select $1 || $1; execute twice('a'); execute twice('b');")),
      'many-rows': async () => size(await sql('select i from generate_series(1, 5000) i;')),
      large: async () => size(await sql(`select repeat('x', ${LARGE_BYTES});`)),
      copy: async () => {
        const lines = Array.from({ length: 5000 }, (_, i) => `${i}\t${'x'.repeat(100)}\n`).join('')
        return outcome(
          await sql(`create temp table t (n int, x text);\ncopy t from stdin;\n${lines}\\.\nselect count(*) from t;`),
        )
      },
      error: async () => (await sql('\\set VERBOSITY verbose\nselect 1 / 0;')).complaints.split('\n')[0],
      'wrong-password': async () => (await sql('select 1;', { password: 'wrong' })).code,
      idle: async () => outcome(await sql('select 1;\n\\! sleep 2\nselect 2;')),
      tls: async () =>
        outcome(
          await sql('select ssl, version from pg_stat_ssl where pid = pg_backend_pid();', { sslmode: 'verify-full' }),
        ),
    }
  },
  mariadb: ({ host, port }) => {
    const sql = (text, { password = 'corpus', more = [] } = {}) => {
      const where = [
        '--no-defaults',
        '--protocol=tcp',
        `--host=${host}`,
        `--port=${port}`,
        '--user=corpus',
        `--password=${password}`,
      ]
      return run([...where, '--batch', '--skip-column-names', ...more, 'corpus'], { input: text })
    }
    return {
      query: async () => outcome(await sql('select 1 + 1, version();')),
      prepared: async () =>
        outcome(await sql("prepare twice from 'select concat(?, ?)'; set @a = 'a'; execute twice using @a, @a;")),
      'many-rows': async () => size(await sql('select seq from seq_1_to_5000;')),
      large: async () => size(await sql(`select repeat('x', ${LARGE_BYTES});`)),
      error: async () =>
        (await sql('select nothing from nowhere;')).complaints.split('\n').find((line) => line.startsWith('ERROR')),
      'wrong-password': async () => (await sql('select 1;', { password: 'wrong' })).code,
      idle: async () => outcome(await sql('select sleep(2); select 2;')),
      tls: async () => outcome(await sql("show status like 'Ssl_version';", { more: [`--ssl-ca=${certificate}`] })),
    }
  },
  redis: ({ host, port }) => {
    const command = (...args) => run(['-h', host, '-p', String(port), '-a', 'corpus', '--no-auth-warning', ...args])
    const pipe = (input) =>
      run(['-h', host, '-p', String(port), '-a', 'corpus', '--no-auth-warning', '--pipe'], { input })
    return {
      ping: async () => outcome(await command('ping')),
      large: async () => {
        const setting = await run(
          ['-h', host, '-p', String(port), '-a', 'corpus', '--no-auth-warning', '-x', 'set', `${own}:large`],
          { input: 'x'.repeat(LARGE_BYTES) },
        )
        return { set: outcome(setting), get: size(await command('get', `${own}:large`)) }
      },
      pipeline: async () => {
        const { output } = await pipe(`incr ${own}:count\r\n`.repeat(1000))
        return {
          replies: /replies: \d+/.exec(output.toString())?.[0],
          count: outcome(await command('get', `${own}:count`)),
        }
      },
      blocking: async () => outcome(await command('blpop', `${own}:nothing`, '2')),
      error: async () => outcome(await command('nothing')),
    }
  },
  ssh: ({ host, port }) => {
    const key = join(folder, 'key')
    // ssh refuses keys that others may read, wherever they come from.
    copyFileSync(join(keys, 'ssh'), key)
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'LogLevel=ERROR',
      'IdentitiesOnly=yes',
      'BatchMode=yes',
    ]
    const ssh = (command, { input, more = [], identity = key } = {}) =>
      run(
        [
          '-F',
          'none',
          '-p',
          String(port),
          '-i',
          identity,
          ...options.flatMap((option) => ['-o', option]),
          ...more,
          `root@${host}`,
          command,
        ],
        { input },
      )
    return {
      command: async () => outcome(await ssh('echo hello; exit 3')),
      input: async () => outcome(await ssh('wc -c', { input: 'x'.repeat(LARGE_BYTES) })),
      large: async () => size(await ssh(`head -c ${LARGE_BYTES} /dev/zero`)),
      compressed: async () => size(await ssh(`head -c ${LARGE_BYTES} /dev/zero`, { more: ['-C'] })),
      idle: async () => {
        // Probes whose answers a busy machine delays are no reason to give up.
        const more = ['-o', 'ServerAliveInterval=1', '-o', 'ServerAliveCountMax=60']
        return outcome(await ssh('sleep 3; echo after', { more }))
      },
      'no-key': async () => (await ssh('echo hello', { identity: '/dev/null' })).code,
    }
  },
  curl: ({ host, port }) => {
    const get = (path, ...more) => run(['--silent', '--cacert', certificate, ...more, `https://${host}:${port}${path}`])
    const pair = ['--cert', certificate, '--key', join(keys, 'tls.key')]
    return {
      handshake: async () => outcome(await get('/seen', '--write-out', '%{http_version} %{ssl_verify_result}')),
      'old-version': async () => outcome(await get('/seen', '--tls-max', '1.2', '--http1.1')),
      'client-certificate': async () => outcome(await get('/seen', ...pair)),
      large: async () => size(await get('/large')),
    }
  },
  openssl: ({ host, port }) => {
    const client = (input, ...more) =>
      run(
        [
          's_client',
          '-connect',
          `${host}:${port}`,
          '-servername',
          host,
          '-CAfile',
          certificate,
          '-quiet',
          '-no_ign_eof',
          ...more,
        ],
        { input },
      )
    const request = 'GET /seen HTTP/1.0\r\n\r\n'
    return {
      request: async () =>
        outcome(await client(request, '-ign_eof'))
          .output.split('\r\n')
          .at(-1),
      'old-version': async () =>
        outcome(await client(request, '-ign_eof', '-tls1_2'))
          .output.split('\r\n')
          .at(-1),
    }
  },
}

await runExchanges(kinds[kind])
