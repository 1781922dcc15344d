// Package proc starts commands so that they can be ended with everything that
// they started.
//
// Guarantees:
//
//   - A command runs in a session and process group of its own, without a
//     terminal: it cannot ask there, stop the program by reading from it, or
//     get its ^C.
//   - After [Group.Stop] nothing of the group is alive. It gets SIGTERM, a
//     grace period, and SIGKILL. On Linux this includes what left the group, by
//     job control, nohup or setsid, as long as it kept its session or its
//     environment (each command's holds a mark, CLM_JOB). What clears both
//     escapes, on other systems also what leaves the group, and what runs as
//     another user.
//   - On Linux the command itself also dies when this process is killed.
//   - [Env] leaves keys out.
//
// On Windows a tree of processes is ended with taskkill.
package proc
