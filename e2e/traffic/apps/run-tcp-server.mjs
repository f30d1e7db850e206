// Prepares and runs a server that is not of HTTP: run-tcp-server.mjs KIND PROGRAM PORT [KEYS]. KEYS is a folder with keys for TLS and SSH.
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const [, , kind, program, port, keys] = process.argv
const folder = mkdtempSync(join(tmpdir(), `osm-ts-${kind}-`))
chmodSync(folder, 0o755)

const write = (name, content, mode = 0o644) => {
  const path = join(folder, name)
  writeFileSync(path, content, { mode })
  return path
}
// Databases refuse to run as root.
const asNobody = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups']
const ownFolder = (name) => {
  const path = join(folder, name)
  mkdirSync(path)
  execFileSync('chown', ['nobody:nogroup', path])
  return path
}
const ownCopy = (name) => {
  const path = write(name, readFileSync(join(keys, name)), 0o600)
  execFileSync('chown', ['nobody:nogroup', path])
  return path
}
const quiet = { stdio: ['ignore', 'ignore', 'inherit'] }
const runAll = ([file, ...args]) => execFileSync(file, args, quiet)

const kinds = {
  postgres: () => {
    const data = ownFolder('data')
    const password = write('password', 'corpus\n')
    const init = ['--no-sync', '--auth=scram-sha-256', '--username=corpus', `--pwfile=${password}`, '--locale=C.UTF-8']
    runAll([...asNobody, join(dirname(program), 'initdb'), `--pgdata=${data}`, ...init])
    appendFileSync(join(data, 'pg_hba.conf'), 'host all all all scram-sha-256\n')
    const settings = {
      listen_addresses: '0.0.0.0',
      unix_socket_directories: '',
      fsync: 'off',
      ssl: 'on',
      ssl_cert_file: ownCopy('tls.crt'),
      ssl_key_file: ownCopy('tls.key'),
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return { argv: [...asNobody, program, '-D', data, '-p', port, ...options] }
  },
  mariadb: () => {
    const data = ownFolder('data')
    const user =
      "CREATE USER corpus@'%' IDENTIFIED BY 'corpus';\nGRANT ALL ON *.* TO corpus@'%';\nCREATE DATABASE corpus;\n"
    const init = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve']
    runAll(['mariadb-install-db', '--no-defaults', `--datadir=${data}`, '--user=nobody', ...init])
    const tls = [`--ssl-cert=${ownCopy('tls.crt')}`, `--ssl-key=${ownCopy('tls.key')}`]
    const options = [
      `--datadir=${data}`,
      `--socket=${join(data, 'socket')}`,
      `--port=${port}`,
      '--bind-address=0.0.0.0',
      ...tls,
    ]
    const lean = ['--skip-name-resolve', '--innodb-flush-log-at-trx-commit=0', `--init-file=${write('init.sql', user)}`]
    return { argv: [...asNobody, program, '--no-defaults', ...options, ...lean] }
  },
  redis: () => ({
    argv: [program, '--port', port, '--bind', '0.0.0.0', '--save', '', '--requirepass', 'corpus', '--dir', folder],
  }),
  memcached: () => ({ argv: [program, '-u', 'nobody', '-p', port, '-l', '0.0.0.0', '-U', '0'] }),
  nats: () => ({ argv: [program, '-a', '0.0.0.0', '-p', port, '--user', 'corpus', '--pass', 'corpus'] }),
  mosquitto: () => ({
    argv: [program, '-c', write('mosquitto.conf', `listener ${port} 0.0.0.0\nallow_anonymous true\nuser root\n`)],
  }),
  mongodb: () => ({ argv: [program, port, folder] }),
  kafka: () => ({
    // It tells clients under which name to dial it.
    argv: [program, 'broker'],
    env: {
      CLUSTER_ID: 'corpus',
      LISTENER_URL: `tcp://0.0.0.0:${port}`,
      ADVERTISED_LISTENER_URL: `tcp://kafka.corpus:${port}`,
      STORAGE_ENGINE: 'memory://corpus/',
    },
  }),
  rabbitmq: () => {
    // It would start one that outlives it.
    const epmd = spawn('epmd', ['-address', '127.0.0.1', '-port', EPMD_PORT], { stdio: 'inherit' })
    helpers.push(epmd)
    // Where none answers yet, the server starts one, which stays.
    const untilItAnswers = 'until epmd -port "$0" -names; do sleep 0.1; done'
    execFileSync('sh', ['-c', untilItAnswers, EPMD_PORT], { stdio: 'ignore', timeout: 120_000 })
    return {
      argv: [program],
      env: {
        HOME: folder,
        ERL_EPMD_ADDRESS: '127.0.0.1',
        ERL_EPMD_PORT: EPMD_PORT,
        RABBITMQ_NODENAME: 'corpus@localhost',
        RABBITMQ_NODE_IP_ADDRESS: '0.0.0.0',
        RABBITMQ_NODE_PORT: port,
        RABBITMQ_DIST_PORT: String(Number(port) + 100),
        RABBITMQ_MNESIA_BASE: folder,
        RABBITMQ_LOG_BASE: folder,
        RABBITMQ_LOGS: join(folder, 'log'),
        RABBITMQ_ENABLED_PLUGINS_FILE: write('plugins', '[].\n'),
        // A guest may come from everywhere.
        RABBITMQ_CONFIG_FILE: write('rabbitmq.conf', 'loopback_users = none\n'),
        RABBITMQ_PID_FILE: join(folder, 'pid'),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none',
      },
    }
  },
  sshd: () => {
    mkdirSync('/run/sshd', { recursive: true })
    const config = [
      `Port ${port}`,
      `HostKey ${write('host', readFileSync(join(keys, 'ssh')), 0o600)}`,
      `AuthorizedKeysFile ${join(keys, 'ssh.pub')}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      'PrintMotd no',
      // Of more than ten connections that are not authenticated yet, sshd drops some at random.
      'MaxStartups 100',
      'Banner none',
    ]
    return { argv: [program, '-D', '-e', '-f', write('sshd_config', `${config.join('\n')}\n`)] }
  },
  nginx: () => {
    mkdirSync(join(folder, 'files'))
    write('files/large', 'x'.repeat(1024 * 1024))
    const config = `
      daemon off; pid ${folder}/pid; error_log stderr warn; user root; worker_processes 1;
      events { worker_connections 64; }
      http {
        # It would reset connections whose client ends its half of TLS before it has read the answer.
        lingering_close always;
        access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
        uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
        server {
          listen ${port} ssl http2;
          ssl_certificate ${keys}/tls.crt; ssl_certificate_key ${keys}/tls.key; ssl_verify_client optional_no_ca;
          location = /seen { return 200 "$ssl_protocol|$ssl_server_name|$ssl_client_s_dn|$server_protocol\\n"; }
          location / { root ${folder}/files; }
        }
      }`
    return { argv: [program, '-c', write('nginx.conf', config)] }
  },
}

const EPMD_PORT = String(Number(port) + 200)
const helpers = []
const { argv, env = {} } = kinds[kind]()
const [file, ...args] = argv
const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] })

process.on('SIGTERM', () => child.kill())
child.once('error', (error) => end(error.message))
child.once('exit', (code, signal) => end(`ended with ${signal ?? code}`))
function end(why) {
  process.stderr.write(`${kind} ${why}\n`)
  for (const helper of helpers) helper.kill()
  rmSync(folder, { recursive: true, force: true })
  process.exit(1)
}
