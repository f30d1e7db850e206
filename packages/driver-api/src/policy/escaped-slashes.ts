/**
 * Body of the 400 for a path with an escaped slash or backslash, where the mesh part has no `keepsEscapedSlashes`. Every class uses it, so that the client learns about the setting.
 */
export const ESCAPED_SLASH_REFUSAL =
  'path not allowed: it has an escaped slash or backslash, see spec.traffic.escapedSlashes of the MeshConfig'
