import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { proxyKeyOfInstance } from '@osm-ts/core'
import type { OutboundRules } from '@osm-ts/driver-api/policy'

import { fakeContext } from '../../test/fake-context.js'
import { parseAllDocuments, stringify } from '../output/yaml-library.js'
import { runCli } from '../run-cli.js'
import { loadFolder, standaloneNaming } from '../spec/load-folder.js'

const interfaces = ['gateway-api', 'smi'] as const
type Interface = (typeof interfaces)[number]
/** Golden pairs by what they are translated to. */
const pairs: Readonly<Record<Interface, string>> = {
  'gateway-api': fileURLToPath(new URL('../policy/testdata/gateway-routes/', import.meta.url)),
  smi: fileURLToPath(new URL('../policy/testdata/smi-splits/', import.meta.url)),
}
const cases = interfaces.flatMap((to) =>
  readdirSync(pairs[to]).flatMap((name) => {
    const own = /^(.*)\.in\.yaml$/.exec(name)?.[1]
    return own === undefined ? [] : [[to, own] as const]
  }),
)
/** Kinds that the other interface takes the place of. */
const replaced: Readonly<Record<Interface, readonly string[]>> = {
  'gateway-api': ['TrafficSplit'],
  smi: ['HTTPRoute', 'TCPRoute'],
}

function plain(rules: OutboundRules): unknown {
  if (rules.kind === 'tcp') return rules
  return rules.routes.flatMap(({ match, targets, ...rest }) =>
    (match.methods ?? [undefined]).map((method) => ({
      ...rest,
      match: { ...match, methods: method },
      targets: targets.length === 1 ? targets.map(({ upstream }) => upstream) : targets,
    })),
  )
}

describe('osm migrate policy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-migrate-policy-'))

  beforeAll(() => {
    cpSync(join(pairs['gateway-api'], 'base.yaml'), join(folder, 'base.yaml'))
  })
  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  async function migrate(to: Interface, text: string, ...args: readonly string[]) {
    writeFileSync(join(folder, 'in.yaml'), text)
    rmSync(join(folder, 'routes.yaml'), { force: true })
    const { context, stdout, stderr } = fakeContext({ cwd: folder })
    const code = await runCli(['migrate', 'policy', '--to', to, '.', ...args], context)
    return { code, printed: stdout.text, said: stderr.text }
  }

  /** Where clients of the mesh send requests: routes by service and port, one for each method; the weight of a single target says nothing. */
  async function routing(): Promise<Readonly<Record<string, unknown>>> {
    const { snapshot, catalog } = await loadFolder(folder, standaloneNaming, new AbortController().signal, {
      running: true,
    })
    const buyer = snapshot.list('WorkloadInstance').find(({ metadata }) => metadata.name.startsWith('buyer'))
    const policy = buyer && catalog.policyDocument(proxyKeyOfInstance(buyer))
    const parts = Object.values(policy?.parts ?? {})
    return Object.fromEntries(parts.flatMap((part) => (part.kind === 'outbound' ? [[part.id, plain(part.rules)]] : [])))
  }

  it.each(cases)('to %s: translates %s as it is written down', async (to, name) => {
    const { code, printed, said } = await migrate(to, readFileSync(join(pairs[to], `${name}.in.yaml`), 'utf8'))
    const golden = { [`${name}.out.yaml`]: printed, [`${name}.txt`]: `${said}exit code ${code}\n` }
    for (const [file, text] of Object.entries(golden)) {
      if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(join(pairs[to], file), text)
      expect(readFileSync(join(pairs[to], file), 'utf8')).toBe(text)
    }
  })

  it.each([
    ['gateway-api', 'shares.in'],
    ['gateway-api', 'matches.in'],
    ['gateway-api', 'both.in'],
    ['gateway-api', 'connections.in'],
    ['smi', 'rules.in'],
    ['smi', 'connections.in'],
  ] as const)('to %s: changes no route of a client in %s', async (to, name) => {
    const text = readFileSync(join(pairs[to], `${name}.yaml`), 'utf8')
    const { printed } = await migrate(to, text)
    const before = await routing()
    const kept = parseAllDocuments(text).map((document) => document.toJS() as { readonly kind: string })
    const rest = kept.filter(({ kind }) => !replaced[to].includes(kind)).map((object) => stringify(object))
    writeFileSync(join(folder, 'in.yaml'), rest.join('---\n'))
    expect(await routing()).not.toEqual(before)
    writeFileSync(join(folder, 'routes.yaml'), printed)
    expect(await routing()).toEqual(before)
  })

  it.each(['shares', 'matches', 'both'])('there and back: clients of %s send requests where they did', async (name) => {
    const { printed } = await migrate(
      'gateway-api',
      readFileSync(join(pairs['gateway-api'], `${name}.in.yaml`), 'utf8'),
    )
    const before = await routing()
    const back = await migrate('smi', printed)
    expect({ code: back.code, said: back.said }).toEqual({ code: 0, said: '' })
    writeFileSync(join(folder, 'in.yaml'), back.printed)
    expect(await routing()).toEqual(before)
  })

  it('prints JSON, and takes one namespace', async () => {
    const text = readFileSync(join(pairs['gateway-api'], 'shares.in.yaml'), 'utf8')
    const { code, printed } = await migrate('gateway-api', text, '-o', 'json', '-n', 'shop')
    expect(JSON.parse(printed)).toMatchObject({ routes: [{ metadata: { name: 'store' } }], problems: [] })
    expect(code).toBe(0)
    const other = await migrate('gateway-api', text, '-o', 'json', '-n', 'other')
    expect(JSON.parse(other.printed)).toEqual({ routes: [], problems: [] })
    const routes = readFileSync(join(pairs.smi, 'rules.in.yaml'), 'utf8')
    const back = await migrate('smi', routes, '-o', 'json', '-n', 'other')
    expect(JSON.parse(back.printed)).toEqual({ objects: [], problems: [] })
  })

  it('refuses an interface that there is not', async () => {
    const { context, stderr } = fakeContext({ cwd: folder })
    expect(await runCli(['migrate', 'policy', '--to', 'istio', '.'], context)).toBe(2)
    expect(stderr.text).toContain('gateway-api')
  })
})
