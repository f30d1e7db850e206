import { type Command, Option } from 'commander'

import { type CliContext, wantsColor } from '../cli-context.js'
import { clusterFlagsOf, osmNamespaceOf, usesCluster } from '../kubernetes/cluster-options.js'
import type { InjectedObject } from '../inject/inject-objects.js'
import { toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

interface InjectFlags {
  readonly filename: string
  readonly config?: string
  readonly namespace: string
  readonly meshName: string
  readonly nativeSidecar: 'on' | 'off'
  readonly templatePath?: string
  readonly explain?: true
  readonly diff?: true
  readonly output: 'yaml' | 'json'
}

/** Objects that stay as they are although they seem to make pods. */
async function warnOfTemplates(results: readonly InjectedObject[], { stderr }: CliContext): Promise<void> {
  const { renderPassedOver } = await import('../inject/render-injection.js')
  for (const { passedOver } of results)
    if (passedOver?.likelyTemplate !== undefined) stderr.write(toText([`osm: ${renderPassedOver(passedOver)}`]))
}

/** `osm inject` */
export function addInject(program: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(program.command('inject'))
    .description('show how osm-injector would change pods and workloads, without creating them')
    .requiredOption('-f, --filename <file>', 'YAML or JSON file with the objects; - for standard input')
    .option(
      '-c, --config <file>',
      'YAML file with the MeshConfig and the Namespaces; defaults apply to missing objects',
    )
    .option('-n, --namespace <namespace>', 'namespace of objects without a namespace', 'default')
    .option('--mesh-name <name>', 'name of the mesh', 'osm')
    .addOption(
      new Option('--native-sidecar <mode>', 'inject native sidecars (restartable init containers)')
        .choices(['on', 'off'])
        .default('on'),
    )
    .option(
      '--template-path <path>',
      'path of the pod template of other kinds, such as spec.podTemplate; spec.template, template and spec.jobTemplate.spec.template are built in',
    )
    .option('--explain', 'print the decision for each pod and its reason instead of the objects')
    .option('--diff', 'print the changes instead of the objects')
    .addOption(new Option('-o, --output <form>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
A namespace that is not in the config is treated as part of the mesh with injection enabled. The uuid of the sidecar is a
placeholder, and the Secret with its certificate is omitted. The exit code is 1 if a pod would be refused.

Examples:
  osm inject -f deployment.yaml --explain --diff
  kubectl get deployment books -o yaml | osm inject -f - -c mesh.yaml`,
    )
    .action(async (flags: InjectFlags, command: Command) => {
      const { runInject } = await import('../inject/run-inject.js')
      const { explain = false, diff = false } = flags
      const osmNamespace = osmNamespaceOf(clusterFlagsOf(command), host)
      const results = await runInject({ ...flags, osmNamespace, input: context, signal: context.signal })
      const pods = results.flatMap(({ pod }) => pod ?? [])
      if (flags.output === 'json') {
        const objects = results.map(({ object }) => object)
        context.stdout.write(toJson(explain || diff ? pods : { apiVersion: 'v1', kind: 'List', items: objects }))
      } else {
        const color = wantsColor(context.stdout, context.variables)
        const { renderDiff, renderExplanation, renderPassedOver } = await import('../inject/render-injection.js')
        const { toYaml } = await import('../output/to-yaml.js')
        if (explain) for (const pod of pods) context.stdout.write(toText(renderExplanation(pod, color)))
        if (explain)
          for (const { passedOver } of results)
            if (passedOver !== undefined) context.stdout.write(toText([renderPassedOver(passedOver)]))
        if (diff) for (const pod of pods) context.stdout.write(toText(renderDiff(pod, color)))
        if (!explain && !diff)
          context.stdout.write(results.map(({ object }) => toYaml(object, { lineWidth: 0 })).join('---\n'))
      }
      if (!explain) await warnOfTemplates(results, context)
      const refused = pods.filter(({ outcome }) => outcome === 'refused')
      if (!explain)
        for (const { title, message, reason } of refused)
          context.stderr.write(toText([`osm: ${title} would be refused: ${message} [${reason}]`]))
      onExit(refused.length === 0 ? exitCodes.ok : exitCodes.problem)
    })
}
