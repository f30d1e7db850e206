import { javaClass, programPath, script } from '../programs.js'
import type { TrafficClient } from '../types.js'
import type { TcpServerName } from './servers.js'

/** A client of one server of the TCP corpus. */
export interface TcpClient extends TrafficClient {
  readonly server: TcpServerName
  readonly protocol: string
  readonly exchanges: readonly string[]
}

const sql = ['query', 'prepared', 'many-rows', 'large', 'error', 'wrong-password', 'idle', 'tls']
const redis = ['ping', 'large', 'pipeline', 'transaction', 'subscription', 'blocking', 'error', 'wrong-password']
const documents = ['query', 'many-rows', 'large', 'error', 'idle']
// Not with a wrong password: the server resets the connection right behind its answer, see docs/reference/traffic-limits.md.
const nats = ['message', 'large', 'request', 'idle']
const mqtt = ['at-most-once', 'at-least-once', 'exactly-once', 'large', 'retained', 'keepalive']
const amqp = ['message', 'large', 'error', 'wrong-password', 'heartbeat']
const smtp = ['mail', 'large', 'starttls', 'refused']
const tls = ['handshake', 'old-version', 'request', 'client-certificate', 'large']

/** All clients. */
export function tcpClients(): readonly TcpClient[] {
  return [...nodeClients(), ...pythonClients(), ...commandLineClients(), ...otherClients()]
}

function client(
  name: string,
  title: string,
  argv: readonly string[],
  server: TcpServerName,
  protocol: string,
  exchanges: readonly string[],
): TcpClient {
  return { name, title, argv, server, protocol, exchanges }
}

/** Clients in one language: each is a library that one program uses. */
function librariesOf(language: 'node' | 'python', app: string, source: string) {
  const run = script(language, app)
  return (
    library: string,
    server: TcpServerName,
    protocol: string,
    exchanges: readonly string[],
    title = `${library} (${source})`,
  ): TcpClient =>
    client(`${language}-${library}`, title, run(library, programPath('keys')), server, protocol, exchanges)
}

function nodeClients(): readonly TcpClient[] {
  const node = librariesOf('node', 'node-tcp-client.mjs', 'npm')
  return [
    node('pg', 'postgres', 'PostgreSQL', [...sql, 'transaction', 'notification']),
    node('mysql2', 'mariadb', 'MySQL', sql),
    node('ioredis', 'redis', 'Redis', redis),
    node('mongodb', 'mongodb', 'MongoDB', documents),
    node('nats', 'nats', 'NATS', nats),
    node('mqtt', 'mosquitto', 'MQTT', mqtt),
    node('kafkajs', 'kafka', 'Kafka', ['messages', 'large']),
    node('amqplib', 'rabbitmq', 'AMQP', amqp),
    node('nodemailer', 'smtp', 'SMTP', smtp),
    node('tls', 'tls', 'TLS', tls, 'Node tls'),
    node('net', 'net', 'TCP', ['greeting', 'half-close', 'server-half-close', 'reset', 'idle', 'large'], 'Node net'),
  ]
}

function pythonClients(): readonly TcpClient[] {
  const python = librariesOf('python', 'python/tcp_client.py', 'PyPI')
  return [
    python('asyncpg', 'postgres', 'PostgreSQL', [...sql, 'notification', 'cancel', 'copy']),
    python('pymysql', 'mariadb', 'MySQL', without(sql, 'prepared')),
    python('redis', 'redis', 'Redis', redis),
    python('pymongo', 'mongodb', 'MongoDB', documents),
    python('pymemcache', 'memcached', 'memcached', ['large', 'count', 'many', 'idle']),
    python('nats', 'nats', 'NATS', nats),
    python('paho', 'mosquitto', 'MQTT', mqtt),
    python('kafka', 'kafka', 'Kafka', ['messages', 'large'], 'kafka-python (PyPI)'),
    python('pika', 'rabbitmq', 'AMQP', amqp),
    python('smtplib', 'smtp', 'SMTP', smtp, 'Python smtplib'),
  ]
}

function commandLineClients(): readonly TcpClient[] {
  const run = script('node', 'cli-tcp-client.mjs')
  const commandLine = (
    kind: string,
    program: string,
    server: TcpServerName,
    protocol: string,
    exchanges: readonly string[],
  ): TcpClient => {
    const argv = run(kind, programPath(program), programPath('keys'))
    return client(`cli-${kind}`, `${program} (Debian)`, argv, server, protocol, exchanges)
  }
  return [
    commandLine('psql', 'psql', 'postgres', 'PostgreSQL', [...sql, 'copy']),
    commandLine('mariadb', 'mariadb', 'mariadb', 'MySQL', sql),
    commandLine('redis', 'redis-cli', 'redis', 'Redis', ['ping', 'large', 'pipeline', 'blocking', 'error']),
    commandLine('ssh', 'ssh', 'ssh', 'SSH', ['command', 'input', 'large', 'compressed', 'idle', 'no-key']),
    commandLine('curl', 'curl', 'tls', 'TLS', without(tls, 'request')),
    commandLine('openssl', 'openssl', 'tls', 'TLS', ['request', 'old-version']),
  ]
}

/** In Go and Java. */
function otherClients(): readonly TcpClient[] {
  const go = (library: string): readonly string[] => [programPath('goTcpClient'), library, programPath('keys')]
  const jdbc = (driver: string): readonly string[] => javaClass('JdbcClient')(driver, programPath('keys'))
  const pgx = [...sql, 'pipeline', 'copy', 'notification']
  return [
    client('go-pgx', 'pgx (Go module)', go('pgx'), 'postgres', 'PostgreSQL', pgx),
    client('go-smtp', 'Go net/smtp', go('smtp'), 'smtp', 'SMTP', smtp),
    client('go-tls', 'Go crypto/tls', go('tls'), 'tls', 'TLS', tls),
    client('jdbc-postgres', 'JDBC of PostgreSQL (Debian)', jdbc('postgresql'), 'postgres', 'PostgreSQL', sql),
    client('jdbc-mariadb', 'JDBC of MariaDB (Debian)', jdbc('mariadb'), 'mariadb', 'MySQL', sql),
  ]
}

function without(all: readonly string[], name: string): readonly string[] {
  return all.filter((each) => each !== name)
}
