SELECT DISTINCT
  "a"."example",
  "a"."arguments",
  "a"."truth"
FROM "sqlrl"."audit_atom" AS "a"
INNER JOIN "sqlrl"."audit_atom" AS "b"
  ON "b"."run" = "a"."run"
  AND "b"."arguments"[1] = "a"."arguments"[2]
  AND "b"."arguments"[2] = "a"."arguments"[1]
INNER JOIN "sqlrl"."audit_seen" AS "s"
  ON "s"."run" = 7 AND "s"."test" = "a"."part" AND "s"."training" = "b"."part"
WHERE
  "a"."run" = 7
  AND "a"."arguments"[1] <> "a"."arguments"[2]
  AND "a"."truth" = "b"."truth"
ORDER BY
  "a"."example",
  "a"."arguments";
