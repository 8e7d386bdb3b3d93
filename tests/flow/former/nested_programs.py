"""Lists and dicts of objects, and lists of lists, that branches on data change, in plain Python: those that merge, and traps."""

from dataclasses import dataclass


class Ball:
    def __init__(self, y, v, mass=1.0):
        self.y = y
        self.v = v
        self.mass = mass

    def fall(self, dt):
        self.v -= dt
        self.y += self.v * dt
        if self.y < 0.0:
            self.y = -self.y
            self.v = -0.9 * self.v

    @property
    def energy(self):
        return 0.5 * self.mass * self.v**2 + self.mass * self.y


@dataclass
class Tank:
    level: float
    capacity: float = 0.5
    spilled: float = 0.0

    def fill(self, inflow):
        self.level += inflow
        if self.level > self.capacity:
            over = self.level - self.capacity
            self.level = self.capacity
            self.spilled += over
            return over
        return 0.0


# What merges


def balls(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3], 2.0), Ball(x[4], x[5])]
    for _ in range(3):
        for b in balls:
            b.fall(0.3)
        for i, b in enumerate(balls[1:]):
            if b.v > balls[i].v:
                b.v, balls[i].v = balls[i].v, b.v * 0.5
    return sum(b.energy for b in balls) + max(b.y for b in balls)


def pairs_of_balls(x):
    n = 3
    balls = [Ball(x[i], x[i + 3]) for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if balls[i].y > balls[j].y:
                balls[i].v, balls[j].v = balls[j].v, balls[i].v
            elif balls[-1].v < 0:
                continue
            balls[j].y += 0.1 * j
    first, last = balls[0], balls[len(balls) - 1]
    return first.y * last.v + sum([b.y * b.v for b in balls]) + last.y


def tanks_below_each_other(x):
    tanks = {"upper": Tank(x[0]), "middle": Tank(x[1], 0.8), "lower": Tank(0.0, 2.0)}
    for v in x:
        over = tanks["upper"].fill(v * v)
        over = tanks["middle"].fill(over)
        tanks["lower"].fill(over)
        for name in ("upper", "lower"):
            t = tanks[name]
            t.level *= 0.9
        for t in tanks.values():
            if t.level < x[2]:
                t.spilled -= 0.1
    return sum(t.level for t in tanks.values()) + tanks["lower"].spilled * x[3] + tanks["upper"].spilled


def tables(x):
    table = [[0.0, 1.0, 2.0], [x[0], x[1], x[2]]]
    cost = [[0.0] * 3 for _ in range(3)]
    for i in range(2):
        for j in range(3):
            if x[i + j] > 0.2:
                table[i][j] = table[i][j] * 0.5 + x[j]
                cost[i + 1][j] += table[1 - i][j]
            else:
                table[i][j] -= 0.1 * x[i]
                cost[i][2 - j] = x[5] if table[0][0] > cost[i + 1][j] else cost[2][2]
    return sum(table[0]) * sum(table[1]) + sum(sum(row) for row in cost) + table[1][-1]


MERGE = [balls, pairs_of_balls, tanks_below_each_other, tables]

# Traps


def one_ball_twice(x):
    one = Ball(x[0], x[1])
    balls = [one, one, Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.y = b.y - 0.5
    return balls[0].y * balls[2].v + one.y


def one_row_twice(x):
    table = [[0.0] * 2] * 3
    for k in range(3):
        if x[k] > 0:
            table[k][0] += x[k]
    return table[0][0] * x[3] + table[2][0]


def loop_variable_after_it(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.y = b.y * 0.5
    return b.y + balls[0].y * 2.0


def rebound_in_the_loop(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b = Ball(x[4], x[5])
        b.v = b.v * 0.5 + x[0]
    return balls[0].v + balls[1].v * 2.0


def seen_by_functions_later(x):
    balls, later = [Ball(x[0], x[1]), Ball(x[2], x[3])], []
    for i, b in enumerate(balls):
        if b.y > 0:
            b.y = b.y * 0.5
        later.append(lambda: i + x[4])
    return sum(f() for f in later) * balls[0].y


def replaced_entries(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    old = balls[0]
    for k in range(2):
        if x[k] > 0:
            balls[k] = Ball(x[4], x[5])
    return balls[0].y + old.y * balls[1].v


def same_names_in_comprehensions(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    total = 0.0
    for b in balls:
        total = total + sum([b * 0.5 for b in x]) * b.y
        if b.y > 0:
            b.y = b.y * 0.5 + total
    return balls[0].y + balls[1].y * total


def counts_its_calls(balls):
    balls[0].v = balls[0].v + 1.0
    return balls[0].v


def given_as_a_whole(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    return counts_its_calls(balls) * balls[0].v + balls[1].v


def asks_no_further_ones(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    is_low = any(b.fall(0.5) or b.y < 0.5 for b in balls)
    return (1.0 if is_low else 2.0) * balls[0].y + balls[1].y * balls[1].v


def until_one_is_found(x):
    balls, found = [Ball(x[0], x[1]), Ball(x[2], x[3]), Ball(x[4], x[5])], 0.0
    for b in balls:
        b.y += 0.1
        if b.y > 0.3:
            found = b.v
            break
    return found + sum(b.y * b.v for b in balls)


def another_name_in_the_next_turn(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    other = balls[0]
    for k in range(3):
        if other.y > x[k]:
            other.y = other.y * 0.5
        other = balls[k % 2]
    return balls[0].y + balls[1].y * 2.0 + other.v


TRAPS = [
    one_ball_twice, one_row_twice, loop_variable_after_it, rebound_in_the_loop, seen_by_functions_later, replaced_entries,
    same_names_in_comprehensions, given_as_a_whole, asks_no_further_ones, until_one_is_found, another_name_in_the_next_turn,
]  # fmt: skip
