/**
 * Body of the 400 for a path with an escaped slash or backslash, where the mesh part has no `keepsEscapedSlashes`. Every class answers so: the client that is
 * refused learns of the setting.
 */
export const ESCAPED_SLASH_REFUSAL =
  'path not allowed: it has an escaped slash or backslash, see spec.traffic.escapedSlashes of the MeshConfig'
