import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { renderInitScript } from './init-script.js'
import { interceptionRules } from './interception-rules.js'
import { renderRestore } from './render-restore.js'
import { listLimits, type InterceptionOptions } from './options.js'

/** The script runs under a real shell; the iptables programs are small scripts that record what they were given. */
describe('renderInitScript', () => {
  let folder = ''

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-init-script-'))
    for (const program of ['iptables', 'ip6tables']) {
      executable(`${program}-save`, `printf '%s\\n' "$LISTED"`)
      executable(
        `${program}-restore`,
        `echo "$@" >'${folder}/${program}.args'; cat >'${folder}/${program}.in'; exit "\${STATUS:-0}"`,
      )
    }
  })

  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  function executable(name: string, body: string): void {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(folder, name), 0o755)
  }

  function run(
    options: InterceptionOptions,
    env: Readonly<Record<string, string>> = {},
  ): { status: number | null; stderr: string } {
    const script = renderInitScript(interceptionRules(options))
    // IPv6 of the machine that runs the tests plays no part here.
    const everywhere = script.replace('[ -e /proc/net/if_inet6 ]', 'true').replaceAll('/etc/resolv.conf', resolvConf())
    const { status, stderr } = spawnSync('/bin/sh', ['-c', everywhere], {
      env: { PATH: `${folder}:/usr/bin:/bin`, LISTED: '', ...env },
      encoding: 'utf8',
    })
    return { status, stderr }
  }

  function resolvConf(): string {
    return join(folder, 'resolv.conf')
  }

  function input(program: string): string {
    return readFileSync(join(folder, `${program}.in`), 'utf8')
  }

  it('lets DNS over TCP through to the nameservers of the pod, three of each family, and reads nothing else for one', () => {
    writeFileSync(
      resolvConf(),
      [
        '# nameserver 192.0.2.1',
        'search shop.svc.cluster.local',
        'nameserver 10.96.0.10',
        '\tnameserver  fd00::a ',
        ...['fe80::1%eth0', '$(reboot)', '1.2.3', '10.96.0.11', '10.96.0.12', '10.96.0.13'].map(
          (text) => `nameserver ${text}`,
        ),
        'options ndots:5',
      ].join('\n'),
    )
    expect(run({})).toEqual({ status: 0, stderr: '' })
    const told = (program: string): readonly string[] =>
      input(program)
        .split('\n')
        .filter((line) => line.includes('--dport 53'))
    expect(told('iptables')).toEqual(
      [10, 11, 12].map((last) => `-A OSM_PROXY_OUTBOUND -d 10.96.0.${last} -p tcp -m tcp --dport 53 -j RETURN`),
    )
    expect(told('ip6tables')).toEqual(['-A OSM_PROXY_OUTBOUND -d fd00::a -p tcp -m tcp --dport 53 -j RETURN'])
  })

  it('feeds the same text as renderRestore to one restore call of each family', () => {
    const options = {
      nameservers: ['10.96.0.10'],
      outboundPortExclusions: [25],
      outboundIpRangeExclusions: ['fd00::/8'],
      interfaceExclusions: ['net1'],
    }
    expect(run(options)).toEqual({ status: 0, stderr: '' })
    expect(input('iptables')).toBe(renderRestore(interceptionRules(options).ipv4))
    expect(input('ip6tables')).toBe(renderRestore(interceptionRules(options).ipv6))
    expect(readFileSync(join(folder, 'iptables.args'), 'utf8')).toBe('--noflush\n')
  })

  it('deletes the jumps that are listed, and only those', () => {
    const listed = [
      '*nat',
      ':OSM_PROXY_INBOUND - [0:0]',
      '-A PREROUTING -p tcp -j OSM_PROXY_INBOUND',
      '-A OUTPUT -j OTHER',
      '-A OSM_PROXY_INBOUND -p tcp -j OSM_PROXY_IN_REDIRECT',
      'COMMIT',
    ].join('\n')
    expect(run({ nameservers: [] }, { LISTED: listed })).toEqual({ status: 0, stderr: '' })
    expect(input('iptables')).toBe(renderRestore(interceptionRules({ nameservers: [] }).ipv4, listed))
    expect(input('iptables').match(/^-D .*$/gm)).toEqual(['-D PREROUTING -p tcp -j OSM_PROXY_INBOUND'])
  })

  it.each([
    [{ POD_IP: '10.1.2.3' }, ['10.1.2.3'], []],
    [{ POD_IPS: '10.1.2.3,fd00::9' }, ['10.1.2.3'], ['fd00::9']],
    [{ POD_IPS: 'fd00::9', POD_IP: '10.9.9.9' }, [], ['fd00::9']],
  ])('takes the address of the pod from %j', (env, ipv4, ipv6) => {
    const found = (program: string): readonly string[] =>
      [...input(program).matchAll(/--to-destination (\S+)/g)].map((match) => match[1] ?? '')
    expect(run({ localProxyMode: 'PodIP' }, env)).toEqual({ status: 0, stderr: '' })
    expect(found('iptables')).toEqual(ipv4)
    expect(found('ip6tables')).toEqual(ipv6)
  })

  it.each(['10.0.0.1; id', '$(id)', '*', '10.0.0.1\n-F'])('refuses the pod address %j', (address) => {
    const result = run({ localProxyMode: 'PodIP' }, { POD_IPS: `10.0.0.1,${address}` })
    expect(result.status).toBe(64)
    expect(result.stderr).toMatch(/not an address/)
  })

  it('ends with the status of a restore call that fails, before the next one', () => {
    expect(run({}, { STATUS: '3' }).status).toBe(3)
    expect(() => input('ip6tables')).toThrow()
  })

  it('ends when the rules that are there cannot be listed', () => {
    executable('iptables-save', 'exit 4')
    expect(run({}).status).toBe(4)
    expect(() => input('iptables')).toThrow()
  })

  it('fits into one argument of a command line, whatever the lists hold', () => {
    const ports = Array.from({ length: listLimits.ports }, (_, index) => 65535 - index)
    const ranges = Array.from(
      { length: listLimits.ranges },
      (_, index) => `fd00:1111:2222:3333:4444:5555:${(0x6000 + index).toString(16)}:ffff/128`,
    )
    const script = renderInitScript(
      interceptionRules({
        outboundIpRangeExclusions: ranges,
        outboundIpRangeInclusions: ranges,
        outboundPortExclusions: ports,
        inboundPortExclusions: ports,
        interfaceExclusions: Array.from(
          { length: listLimits.interfaces },
          (_, index) => `eth0123456789${String(10 + index)}`,
        ),
      }),
    )
    expect(script.length).toBeLessThan(128 * 1024)
  })
})
