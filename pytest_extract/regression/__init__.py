"""Did a change make extraction worse? Runs become snapshots, snapshots are compared, and comparisons are judged.

Data flows one way: results -> `snapshot` -> (`baseline`) -> `compare` -> `verdict` -> `text`. Nothing here runs a case
or imports pytest; files are touched by `baseline_file` and git by `git_tree` alone.
"""
