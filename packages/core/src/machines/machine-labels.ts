const LABEL = /^([A-Za-z0-9][\w./-]{0,252})=([A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?|)$/

/** Annotation of a ServiceAccount that lets machines join by its tokens: the labels that they have, such as `app=store,tier=back`. It may be empty. */
export const machineLabelsAnnotation = 'openservicemesh.io/machine-labels'

/** A label as `key=value`; undefined if the text is none. */
function parseMachineLabel(text: string): readonly [key: string, value: string] | undefined {
  const [, key, value] = LABEL.exec(text) ?? []
  return key === undefined || value === undefined ? undefined : [key, value]
}

/** Labels, separated by commas; undefined if one of them is invalid. */
export function parseMachineLabels(text: string): Readonly<Record<string, string>> | undefined {
  const labels = text
    .split(',')
    .map((label) => label.trim())
    .filter((label) => label !== '')
    .map(parseMachineLabel)
  return labels.every((label) => label !== undefined) ? Object.fromEntries(labels) : undefined
}
