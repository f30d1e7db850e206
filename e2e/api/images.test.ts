import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { interceptionRules, renderInitScript } from '@osm-ts/interception'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url).pathname
const programs = ['osm-controller', 'osm-injector', 'osm-bootstrap', 'osm-dashboard', 'osm-preinstall', 'osm-cleanup']
const init = 'osm-sidecar-init'
const nonroot = '65532:65532'

interface Assembled {
  readonly name: string
  readonly digest: string
  readonly size: number
  readonly path: string
}

interface ContainerConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
}

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'osm-ts-images-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function assemble(name: string, ...args: readonly string[]): Promise<readonly Assembled[]> {
  const command = ['tools/bootstrap.mjs', 'images', '-o', 'json', '--folder', join(folder, name), ...args]
  const { stdout } = await run(process.execPath, command, { cwd: root, maxBuffer: 1 << 24 })
  return (JSON.parse(stdout) as { readonly images: readonly Assembled[] }).images
}

/** Unpacks an image as an engine would: its layers, one over the other. */
async function unpack({ path }: Assembled): Promise<{ readonly files: string; readonly config: ContainerConfig }> {
  const layout = `${path}.layout`
  const files = `${path}.root`
  mkdirSync(layout)
  mkdirSync(files)
  await run('tar', ['-xf', path, '-C', layout])
  const read = <T>(name: string) => JSON.parse(readFileSync(join(layout, name), 'utf8')) as T
  const [manifest] = read<{ readonly Config: string; readonly Layers: readonly string[] }[]>('manifest.json')
  for (const layer of manifest?.Layers ?? []) {
    await run('tar', ['-xpf', join(layout, layer), '--same-owner', '-C', files])
  }
  // Every container has it.
  mkdirSync(join(files, 'dev'))
  await run('mknod', ['-m', '666', join(files, 'dev/null'), 'c', '1', '3'])
  return { files, config: read<{ readonly config: ContainerConfig }>(manifest?.Config ?? '').config }
}

describe('npm run images', () => {
  let images: readonly Assembled[]
  const image = (name: string): Assembled => images.find((candidate) => candidate.name.includes(`/${name}:`))!

  beforeAll(async () => {
    images = await assemble('first', '--registry', 'registry.example/mesh', '--tag', 'tried')
  })

  it('makes every image of the chart, under the name that was requested', () => {
    expect(images.map(({ name }) => name)).toEqual(
      [...programs, init].map((name) => `registry.example/mesh/${name}:tried`),
    )
    for (const { digest } of images) expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  it('keeps them small', () => {
    for (const name of programs) expect(image(name).size).toBeLessThan(60e6)
    expect(image(init).size).toBeLessThan(5e6)
  })

  it('gives the same bytes again, wherever they go', async () => {
    const names = ['osm-preinstall', init]
    const again = await assemble('second', '--registry', 'registry.example/mesh', '--tag', 'tried', ...names)
    expect(again.map(({ digest }) => digest)).toEqual(names.map((name) => image(name).digest))
    for (const { path } of again) {
      const first = path.replace('/second/', '/first/')
      expect(readFileSync(path).equals(readFileSync(first))).toBe(true)
    }
  })

  it.each(programs)('makes %s so that it runs, in its own file system and as an unprivileged user', async (name) => {
    const { files, config } = await unpack(image(name))
    expect(config.User).toBe(nonroot)
    const command = ['--userspec', nonroot, files, ...(config.Entrypoint ?? []), '--help']
    const { stdout } = await run('/usr/sbin/chroot', command, { env: {} })
    expect(stdout).toContain(`Usage: ${name}`)
    await expect(writable(files)).resolves.toEqual(['tmp'])
    await expect(run('ls', [join(files, 'bin'), join(files, 'usr/bin')])).rejects.toThrow('cannot access')
  })

  it('makes osm-sidecar-init so that it redirects the traffic of a network namespace, also when it runs again', async () => {
    const { files, config } = await unpack(image(init))
    const script = renderInitScript(interceptionRules({ outboundPortExclusions: [5432] }))
    const tables = [...(config.Cmd ?? []), '-c', `${script}\n${script}\niptables-save -t nat\nip6tables-save -t nat`]
    const env = Object.fromEntries(config.Env.map((variable) => variable.split('=') as [string, string]))
    // What an engine makes around a container, as far as the script looks at it.
    const container = 'mkdir "$0/proc" && mount -t proc proc "$0/proc" && exec /usr/sbin/chroot "$0" "$@"'
    const command = ['--net', '--mount', '/bin/sh', '-c', container, files, ...tables]
    const { stdout } = await run('/usr/bin/unshare', command, { env: { PATH: `${env.PATH ?? ''}:/bin:/sbin` } })
    const redirects = stdout.split('\n').filter((line) => line.startsWith('-A OSM_PROXY_OUT_REDIRECT'))
    const families = existsSync('/proc/net/if_inet6') ? 2 : 1
    expect(redirects).toEqual(Array.from({ length: families }, () => expect.stringContaining('--to-ports 15001')))
    expect(stdout).toContain('--dports 5432 -j RETURN')
    await expect(writable(files)).resolves.toEqual(['tmp'])
  })

  it('says which images there are, and refuses others', async () => {
    const command = (...args: readonly string[]) =>
      run(process.execPath, ['tools/bootstrap.mjs', 'images', ...args], { cwd: root })
    const { stdout } = await command('--help')
    for (const name of [...programs, init]) expect(stdout).toContain(`  ${name}\n`)
    await expect(command('osm-crds')).rejects.toThrow('no image "osm-crds"; there are osm-controller')
    await expect(command('--folde', 'x')).rejects.toThrow("Unknown option '--folde'")
  })
})

/** What others than root may write, or run as root. */
async function writable(files: string): Promise<readonly string[]> {
  const { stdout } = await run('find', [
    files,
    '(',
    '-perm',
    '/022',
    '-o',
    '-perm',
    '/6000',
    '-o',
    '!',
    '-user',
    'root',
    ')',
    '!',
    '-type',
    'l',
    '!',
    '-path',
    '*/dev/*',
    '-printf',
    '%P\n',
  ])
  return stdout.split('\n').filter((line) => line !== '')
}
