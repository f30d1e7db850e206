/**
 * Makes packages/envoy-api/gen: Envoy's API as JavaScript and type declarations. The descriptors come from a published
 * package, so neither .proto files nor generated code are committed.
 */
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { cachedFolder, hashInputs } from './lib/cache.mjs'
import { root } from './lib/paths.mjs'
import { run } from './lib/process.mjs'
import { timed } from './lib/progress.mjs'
import { downloadWheel, findPython } from './lib/python.mjs'
import { SetUpError } from './lib/set-up-error.mjs'

const descriptorPackage = 'xds-protos==1.85.0'
const pluginOptions = 'target=js+dts,import_extension=js'

const packageFolder = join(root, 'packages/envoy-api')
const genFolder = join(packageFolder, 'gen')
const entryFiles = join(root, 'tools/protos/entry-files.txt')
const reader = join(root, 'tools/protos/read_descriptors.py')

/** Brings packages/envoy-api/gen up to date; does nothing when it is. */
export async function ensureEnvoyApi() {
  const hash = await inputHash()
  const stamp = join(genFolder, '.inputs')
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === hash) return
  const cached = await cachedFolder(`envoy-api-${hash}`, (folder) =>
    timed("Generating Envoy's API types", () => generate(folder, hash)),
  )
  await replaceFolder(cached, genFolder)
}

async function inputHash() {
  const require = createRequire(join(packageFolder, 'package.json'))
  const versions = ['@bufbuild/protobuf', '@bufbuild/protoc-gen-es'].map((name) => packageVersion(require, name))
  const files = [entryFiles, reader, import.meta.filename].map((path) => readFile(path))
  return hashInputs([descriptorPackage, pluginOptions, ...(await Promise.all([...versions, ...files]))])
}

/**
 * @param {NodeJS.Require} require
 * @param {string} name
 */
async function packageVersion(require, name) {
  const folder = require.resolve.paths(name)?.find((path) => existsSync(join(path, name)))
  if (folder === undefined) throw new SetUpError(`${name} is not installed.`)
  const { version } = JSON.parse(await readFile(join(folder, name, 'package.json'), 'utf8'))
  return `${name}@${version}`
}

/**
 * @param {string} folder
 * @param {string} hash
 */
async function generate(folder, hash) {
  const work = join(folder, '.work')
  await mkdir(work)
  await downloadWheel(descriptorPackage, work)
  const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw new SetUpError(`pip left no wheel of ${descriptorPackage}.`)
  const descriptors = join(work, 'descriptors.binpb')
  const { code, stderr } = await run(await findPython(), [reader, join(work, wheel), entryFiles, descriptors])
  if (code !== 0) throw new SetUpError(`Could not read descriptors from ${wheel}.`, stderr)
  for (const { name, content } of await runPlugin(await readFile(descriptors))) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  }
  await rm(work, { recursive: true })
  await writeFile(join(folder, '.inputs'), hash)
}

/**
 * Calls protoc-gen-es the way protoc does: one request on standard input, one response on standard output.
 * @param {Uint8Array} descriptorSet
 * @returns {Promise<{ name: string, content: string }[]>}
 */
async function runPlugin(descriptorSet) {
  const require = createRequire(join(packageFolder, 'package.json'))
  const { create, fromBinary, toBinary } = require('@bufbuild/protobuf')
  const wkt = require('@bufbuild/protobuf/wkt')
  const { file: files } = fromBinary(wkt.FileDescriptorSetSchema, descriptorSet)
  const imports = new Set(files.flatMap((/** @type {{ dependency: string[] }} */ file) => file.dependency))
  const wellKnown = [...imports]
    .filter((name) => name.startsWith('google/protobuf/'))
    .map((name) => wkt[`file_${name.replace(/\.proto$/, '').replaceAll('/', '_')}`].proto)
  const request = create(wkt.CodeGeneratorRequestSchema, {
    fileToGenerate: files.map((/** @type {{ name: string }} */ file) => file.name),
    parameter: pluginOptions,
    protoFile: [...wellKnown, ...files],
  })
  const plugin = join(packageFolder, 'node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es')
  const input = toBinary(wkt.CodeGeneratorRequestSchema, request)
  const { code, stdout, stderr } = await run(process.execPath, [plugin], { input })
  const response = code === 0 ? fromBinary(wkt.CodeGeneratorResponseSchema, stdout) : { error: stderr }
  if (response.error) throw new Error(`protoc-gen-es: ${response.error}`)
  return response.file
}

/**
 * Puts a copy in place of a folder. A link would not do: the generated files must find @bufbuild/protobuf above them.
 * @param {string} source
 * @param {string} target
 */
async function replaceFolder(source, target) {
  const next = `${target}.next`
  const previous = `${target}.previous`
  await Promise.all([next, previous].map((path) => rm(path, { recursive: true, force: true })))
  await cp(source, next, { recursive: true })
  if (existsSync(target)) await rename(target, previous)
  await rename(next, target)
  await rm(previous, { recursive: true, force: true })
}

if (process.argv[1] === import.meta.filename) await ensureEnvoyApi()
