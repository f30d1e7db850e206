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

const pairs = fileURLToPath(new URL('../policy/testdata/gateway-routes/', import.meta.url))
const cases = readdirSync(pairs).flatMap((name) => /^(.*)\.in\.yaml$/.exec(name)?.[1] ?? [])

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

describe('osm migrate policy --to gateway-api', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-migrate-policy-'))

  beforeAll(() => {
    cpSync(join(pairs, 'base.yaml'), join(folder, 'base.yaml'))
  })
  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  async function migrate(text: string, ...args: readonly string[]) {
    writeFileSync(join(folder, 'in.yaml'), text)
    rmSync(join(folder, 'routes.yaml'), { force: true })
    const { context, stdout, stderr } = fakeContext({ cwd: folder })
    const code = await runCli(['migrate', 'policy', '--to', 'gateway-api', '.', ...args], context)
    return { code, routes: stdout.text, said: stderr.text }
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

  it.each(cases)('translates %s as it is written down', async (name) => {
    const { code, routes, said } = await migrate(readFileSync(join(pairs, `${name}.in.yaml`), 'utf8'))
    const golden = { [`${name}.out.yaml`]: routes, [`${name}.txt`]: `${said}exit code ${code}\n` }
    for (const [file, text] of Object.entries(golden)) {
      if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(join(pairs, file), text)
      expect(readFileSync(join(pairs, file), 'utf8')).toBe(text)
    }
  })

  it.each(['shares', 'matches', 'both'])('changes no route of a client in %s', async (name) => {
    const text = readFileSync(join(pairs, `${name}.in.yaml`), 'utf8')
    const { routes } = await migrate(text)
    const before = await routing()
    const kept = parseAllDocuments(text).map((document) => document.toJS() as { readonly kind: string })
    const rest = kept.filter(({ kind }) => kind !== 'TrafficSplit').map((object) => stringify(object))
    writeFileSync(join(folder, 'in.yaml'), rest.join('---\n'))
    expect(await routing()).not.toEqual(before)
    writeFileSync(join(folder, 'routes.yaml'), routes)
    expect(await routing()).toEqual(before)
  })

  it('prints JSON, and takes one namespace', async () => {
    const text = readFileSync(join(pairs, 'shares.in.yaml'), 'utf8')
    const { code, routes } = await migrate(text, '-o', 'json', '-n', 'shop')
    expect(JSON.parse(routes)).toMatchObject({ routes: [{ metadata: { name: 'store' } }], problems: [] })
    expect(code).toBe(0)
    expect(JSON.parse((await migrate(text, '-o', 'json', '-n', 'other')).routes)).toEqual({ routes: [], problems: [] })
  })

  it('refuses an interface that there is not', async () => {
    const { context, stderr } = fakeContext({ cwd: folder })
    expect(await runCli(['migrate', 'policy', '--to', 'istio', '.'], context)).toBe(2)
    expect(stderr.text).toContain('gateway-api')
  })
})
