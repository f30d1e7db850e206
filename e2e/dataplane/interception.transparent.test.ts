import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  formatRuleSpec,
  interceptionRules,
  renderInitScript,
  renderRestore,
  type FamilyRules,
  type InterceptionOptions,
} from '@osm-ts/interception'
import { temporaryFolders } from '../../tools/testing/temporary-folder.js'
import {
  greeting,
  kernelTestObstacle,
  namespaceNames,
  removeLeftovers,
  run,
  startGreeters,
  type Prefix,
} from './support/kernel.js'

const temporaryFolder = temporaryFolders()

const obstacle = kernelTestObstacle()
const programs = { ipv4: 'iptables', ipv6: 'ip6tables' } as const
const workload = `osmtest-${String(process.pid)}-workload`
const peer = `osmtest-${String(process.pid)}-peer`
const address = {
  ipv4: { workload: '10.201.7.2', peer: '10.201.7.1' },
  ipv6: { workload: 'fd01:7::2', peer: 'fd01:7::1' },
} as const
const loopback = { ipv4: '127.0.0.1', ipv6: '::1' } as const
const any = { ipv4: '0.0.0.0', ipv6: '::' } as const
const families = ['ipv4', 'ipv6'] as const
const appUid = 1000
const proxyUid = 1500
const app = as(workload, appUid)
const proxy = as(workload, proxyUid)
const stranger = as(peer, appUid)

function inside(namespace: string): Prefix {
  return ['ip', 'netns', 'exec', namespace]
}

function as(namespace: string, uid: number): Prefix {
  return [...inside(namespace), 'setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--']
}

function list(family: 'ipv4' | 'ipv6'): string {
  return run('ip', ['netns', 'exec', workload, `${programs[family]}-save`])
}

/** Comments carry the time, and counters move by themselves. */
function settled(family: 'ipv4' | 'ipv6'): string {
  return list(family)
    .replace(/^#.*\n/gm, '')
    .replace(/\[\d+:\d+\]/g, '[0:0]')
}

function apply(rules: FamilyRules): void {
  run(
    'ip',
    ['netns', 'exec', workload, `${programs[rules.family]}-restore`, '--noflush'],
    renderRestore(rules, list(rules.family)),
  )
}

function intercept(options: InterceptionOptions = {}): void {
  const rules = interceptionRules(options)
  apply(rules.ipv4)
  apply(rules.ipv6)
}

function runInitScript(options: InterceptionOptions, env: readonly string[] = []): void {
  run('ip', ['netns', 'exec', workload, 'env', ...env, 'sh', '-c', renderInitScript(interceptionRules(options))])
}

function removeNamespaces(): void {
  for (const name of namespaceNames().filter((found) => found === workload || found === peer))
    run('ip', ['netns', 'delete', name])
}

if (obstacle !== undefined) {
  describe('interception in a real kernel', () => {
    it('can run here', () => {
      throw new Error(obstacle)
    })
  })
} else {
  describe('interception in a real kernel', () => {
    const greeters: { stop(): Promise<void> }[] = []

    beforeAll(async () => {
      removeLeftovers('osmtest-')
      for (const name of [workload, peer]) {
        run('ip', ['netns', 'add', name])
        run('ip', ['-n', name, 'link', 'set', 'lo', 'up'])
      }
      run('ip', ['-n', workload, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', peer])
      for (const [name, side] of [
        [workload, 'workload'],
        [peer, 'peer'],
      ] as const) {
        run('ip', ['-n', name, 'address', 'add', `${address.ipv4[side]}/24`, 'dev', 'eth0'])
        run('ip', ['-n', name, 'address', 'add', `${address.ipv6[side]}/64`, 'dev', 'eth0', 'nodad'])
        run('ip', ['-n', name, 'link', 'set', 'eth0', 'up'])
      }
      const open = (ports: readonly number[]) =>
        families.flatMap((family) => ports.map((port) => ({ host: any[family], port })))
      const adminAndPodOnly = families.flatMap((family) => [
        { host: loopback[family], port: 15000 },
        { host: address[family].workload, port: 8081 },
      ])
      greeters.push(
        await startGreeters(inside(workload), 'workload', [
          ...open([8080, 15001, 15003, 15010, 15901]),
          ...adminAndPodOnly,
        ]),
      )
      greeters.push(await startGreeters(inside(peer), 'peer', open([7000, 7001])))
    })

    afterAll(async () => {
      await Promise.all(greeters.map((greeter) => greeter.stop()))
      removeNamespaces()
    })

    describe.each(families)('%s', (family) => {
      const self = address[family].workload
      const other = address[family].peer

      describe('with default rules', () => {
        beforeEach(() => {
          intercept()
        })

        it('sends connections from outside to the inbound listener, whichever port they were for', () => {
          expect(greeting(stranger, { host: self, port: 8080 })).toBe('workload:15003')
          expect(greeting(stranger, { host: self, port: 4711 })).toBe('workload:15003')
        })

        it('lets metrics and probes through', () => {
          expect(greeting(stranger, { host: self, port: 15010 })).toBe('workload:15010')
          expect(greeting(stranger, { host: self, port: 15901 })).toBe('workload:15901')
        })

        it('sends connections of the workload to the outbound listener', () => {
          expect(greeting(app, { host: other, port: 7000 })).toBe('workload:15001')
          expect(greeting(app, { host: other, port: 15000 })).toBe('workload:15001')
        })

        it('lets connections of the sidecar out', () => {
          expect(greeting(proxy, { host: other, port: 7000 })).toBe('peer:7000')
        })

        it('keeps loopback to the workload and the sidecar', () => {
          expect(greeting(app, { host: loopback[family], port: 8080 })).toBe('workload:8080')
          expect(greeting(proxy, { host: loopback[family], port: 8080 })).toBe('workload:8080')
          expect(greeting(app, { host: self, port: 8080 })).toBe('workload:8080')
        })

        it('sends what the sidecar sends to this very pod through its inbound listener', () => {
          expect(greeting(proxy, { host: self, port: 8080 })).toBe('workload:15003')
        })

        it('has the administration port on loopback only, by a rule that fires', () => {
          const hits = () =>
            Number(
              /\[(\d+):\d+\] -A OSM_PROXY_OUTBOUND -o lo -p tcp -m tcp --dport 15000 -j RETURN/.exec(
                counted(family),
              )?.[1],
            )
          const before = hits()
          expect(greeting(app, { host: loopback[family], port: 15000 })).toBe('workload:15000')
          expect(hits()).toBe(before + 1)
          expect(greeting(stranger, { host: self, port: 15000 })).toBe('workload:15003')
        })
      })

      it.each([
        ['port', { outboundPortExclusions: [7000] }],
        ['range', { outboundIpRangeExclusions: [`${other}/${family === 'ipv4' ? '24' : '64'}`] }],
        ['interface', { interfaceExclusions: ['eth0'] }],
        ['range that is not among the included', { outboundIpRangeInclusions: ['192.0.2.0/24', '2001:db8::/32'] }],
      ])('leaves connections to an excluded %s alone', (_, options: InterceptionOptions) => {
        intercept(options)
        expect(greeting(app, { host: other, port: 7000 })).toBe('peer:7000')
      })

      it('captures included ranges except for excluded ports', () => {
        intercept({
          outboundIpRangeInclusions: [`${other}/${family === 'ipv4' ? '32' : '128'}`],
          outboundPortExclusions: [7001],
        })
        expect(greeting(app, { host: other, port: 7000 })).toBe('workload:15001')
        expect(greeting(app, { host: other, port: 7001 })).toBe('peer:7001')
      })

      it('leaves connections to an excluded inbound port alone', () => {
        intercept({ inboundPortExclusions: [8080] })
        expect(greeting(stranger, { host: self, port: 8080 })).toBe('workload:8080')
        expect(greeting(stranger, { host: self, port: 8082 })).toBe('workload:15003')
      })

      it('reaches a workload that listens on the address of the pod only, and the administration port all the same', () => {
        intercept({ localProxyMode: 'PodIP', podAddresses: [self] })
        expect(greeting(proxy, { host: loopback[family], port: 8081 })).toBe('workload:8081')
        expect(greeting(proxy, { host: loopback[family], port: 15000 })).toBe('workload:15000')
        expect(greeting(app, { host: loopback[family], port: 8081 })).toBe('ECONNREFUSED')
      })

      it('holds exactly the rules that were asked for, however often they are applied', () => {
        const rules = interceptionRules({
          inboundPortExclusions: [22],
          outboundPortExclusions: [25, 443],
          outboundIpRangeExclusions: ['10.0.0.0/8', 'fd00::/8'],
          outboundIpRangeInclusions: ['172.16.0.0/12', '2001:db8::/32'],
          interfaceExclusions: ['net1'],
          dnsCapture: { nameserver: '127.0.0.153', port: 5300 },
          nameservers: ['192.0.2.53', '2001:db8:1::53'],
        })[family]
        apply(rules)
        const once = settled(family)
        apply(rules)
        expect(settled(family)).toBe(once)
        const wanted = rules.tables.flatMap((table) => [...table.hooks, ...table.rules])
        for (const chain of new Set(wanted.map((rule) => rule.chain))) {
          const held = once.split('\n').filter((line) => line.startsWith(`-A ${chain} `))
          expect(held).toEqual(
            wanted.filter((rule) => rule.chain === chain).map((rule) => `-A ${chain} ${formatRuleSpec(rule)}`),
          )
        }
      })
    })

    describe('applied again', () => {
      afterEach(() => {
        for (const program of Object.values(programs))
          run('ip', ['netns', 'exec', workload, program, '-t', 'nat', '-F', 'OUTPUT'])
        intercept()
      })

      it('is one jump again after something doubled it, and keeps the rules of others in their order', () => {
        intercept()
        const iptables = (...args: readonly string[]) =>
          run('ip', ['netns', 'exec', workload, 'iptables', '-t', 'nat', ...args])
        iptables('-A', 'OUTPUT', '-p', 'tcp', '-j', 'OSM_PROXY_OUTBOUND')
        iptables('-A', 'OUTPUT', '-p', 'tcp', '-d', '198.51.100.1', '-j', 'RETURN')
        iptables(
          '-I',
          'OUTPUT',
          '-p',
          'udp',
          '-d',
          '198.51.100.2',
          '-m',
          'comment',
          '--comment',
          'somebody else',
          '-j',
          'RETURN',
        )
        intercept()
        expect(settled('ipv4').match(/^-A OUTPUT .*$/gm)).toEqual([
          '-A OUTPUT -p tcp -j OSM_PROXY_OUTBOUND',
          '-A OUTPUT -d 198.51.100.2/32 -p udp -m comment --comment "somebody else" -j RETURN',
          '-A OUTPUT -d 198.51.100.1/32 -p tcp -j RETURN',
        ])
      })

      it('replaces all rules of the first run when it runs with other options', () => {
        intercept()
        const plain = { ipv4: settled('ipv4'), ipv6: settled('ipv6').replace(/\*filter[^*]*COMMIT\n/, '') }
        intercept({
          ipv6: 'refuse',
          dnsCapture: { nameserver: '127.0.0.153', port: 5300 },
          outboundPortExclusions: [1],
        })
        expect(settled('ipv6')).toContain('OSM_PROXY_REFUSE')
        intercept()
        expect({ ipv4: settled('ipv4'), ipv6: settled('ipv6').replace(/\*filter[^*]*COMMIT\n/, '') }).toEqual(plain)
        expect(settled('ipv6')).not.toContain('OSM_PROXY_REFUSE')
      })

      it('by the init script is the same as by hand, the second run included', () => {
        const options = {
          outboundPortExclusions: [25],
          dnsCapture: { nameserver: '127.0.0.153', port: 5300 },
          nameservers: ['192.0.2.53', '2001:db8:1::53'],
        }
        intercept(options)
        const byHand = families.map(settled)
        runInitScript(options)
        runInitScript(options)
        expect(families.map(settled)).toEqual(byHand)
      })

      it('by the init script leaves connections to the nameservers of the pod alone', () => {
        const text = 'search shop.svc.cluster.local\nnameserver 192.0.2.10\nnameserver 2001:db8:1::10\n'
        const resolvConf = join(temporaryFolder({ 'resolv.conf': text }), 'resolv.conf')
        // Mounts of a command in a namespace are its own.
        const command = 'mount --bind "$1" /etc/resolv.conf && exec sh -c "$2"'
        const script = renderInitScript(interceptionRules())
        run('ip', ['netns', 'exec', workload, 'sh', '-c', command, 'sh', resolvConf, script])
        const passing = families.map(
          (family) => settled(family).match(/-d (\S+) -p tcp -m tcp --dport 53 -j RETURN/)?.[1],
        )
        expect(passing).toEqual(['192.0.2.10/32', '2001:db8:1::10/128'])
      })

      it('by the init script takes the addresses of the pod from its environment', () => {
        runInitScript({ localProxyMode: 'PodIP' }, [`POD_IPS=${address.ipv4.workload},${address.ipv6.workload}`])
        expect(greeting(proxy, { host: '127.0.0.1', port: 8081 })).toBe('workload:8081')
        expect(greeting(proxy, { host: '::1', port: 8081 })).toBe('workload:8081')
      })

      it('changes nothing when the listing is out of date', () => {
        intercept()
        const stale = renderRestore(interceptionRules({ outboundPortExclusions: [7000] }).ipv4, list('ipv4'))
        run('ip', ['netns', 'exec', workload, 'iptables', '-t', 'nat', '-F', 'OUTPUT'])
        const before = settled('ipv4')
        expect(() => run('ip', ['netns', 'exec', workload, 'iptables-restore', '--noflush'], stale)).toThrow()
        expect(settled('ipv4')).toBe(before)
      })
    })

    describe('where IPv6 is refused', () => {
      beforeEach(() => {
        intercept({ ipv6: 'refuse' })
      })

      afterEach(() => {
        intercept()
      })

      it('resets TCP over IPv6 in both directions, and keeps loopback and IPv4', () => {
        expect(greeting(app, { host: address.ipv6.peer, port: 7000 })).toBe('ECONNREFUSED')
        expect(greeting(proxy, { host: address.ipv6.peer, port: 7000 })).toBe('ECONNREFUSED')
        expect(greeting(stranger, { host: address.ipv6.workload, port: 8080 })).toBe('ECONNREFUSED')
        expect(greeting(app, { host: '::1', port: 8080 })).toBe('workload:8080')
        expect(greeting(stranger, { host: address.ipv4.workload, port: 8080 })).toBe('workload:15003')
      })

      it('lets answers of excluded ports back in and out', () => {
        intercept({ ipv6: 'refuse', outboundPortExclusions: [7000], inboundPortExclusions: [8080] })
        expect(greeting(app, { host: address.ipv6.peer, port: 7000 })).toBe('peer:7000')
        expect(greeting(stranger, { host: address.ipv6.workload, port: 8080 })).toBe('workload:8080')
      })
    })

    it('brings DNS queries for the captured nameserver to the port of the sidecar', () => {
      intercept({ dnsCapture: { nameserver: '127.0.0.153', port: 5300 } })
      // One process is both sides; without the rule the query finds no one on port 53 and the process ends by ECONNREFUSED.
      const program = `
        const dgram = require('node:dgram')
        const server = dgram.createSocket('udp4')
        server.on('message', (query, from) => server.send('answer to ' + query, from.port, from.address))
        server.bind(5300, '127.0.0.153', () => {
          const client = dgram.createSocket('udp4')
          client.connect(53, '127.0.0.153', () => client.send('query'))
          client.on('message', (answer) => { console.log(String(answer)); process.exit() })
        })`
      expect(run('ip', ['netns', 'exec', workload, process.execPath, '-e', program]).trim()).toBe('answer to query')
    })
  })
}

function counted(family: 'ipv4' | 'ipv6'): string {
  return run('ip', ['netns', 'exec', workload, `${programs[family]}-save`, '-c'])
}
